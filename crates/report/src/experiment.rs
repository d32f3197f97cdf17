//! What an experiment found: machines, configurations and numbers of threads beside each other. [`crate::render::experiment`] makes the page.

/// A page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Experiment {
    /// Its heading.
    pub title: String,
    /// What it is about.
    pub about: String,
    /// Findings that others have published, to be read beside these.
    pub published: Vec<String>,
    /// One for each thing that was done.
    pub sections: Vec<Section>,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What was done, in one sentence.
    pub lead: String,
    /// What came out, a sentence each.
    pub findings: Vec<String>,
    /// What a reader must know before using the figures: failed runs, what could not be emulated.
    pub warnings: Vec<String>,
    /// Charts.
    pub figures: Vec<Figure>,
    /// The numbers.
    pub table: Table,
}

/// Rows of text under headings; the first column is of words, the others are of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Headings.
    pub head: Vec<String>,
    /// Rows as long as the heading.
    pub rows: Vec<Vec<String>>,
}

/// A chart with its heading and what to see in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// What to see in it.
    pub caption: String,
    /// Whether it is as wide as the page, or half.
    pub wide: bool,
    /// The chart.
    pub chart: Chart,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// A bar for each, from 0.
    Bars {
        /// Of the values.
        unit: String,
        /// From top to bottom.
        bars: Vec<Bar>,
    },
    /// A curve for each over a logarithmic axis.
    Curves {
        /// What the horizontal axis shows.
        across: String,
        /// Of the values.
        unit: String,
        /// The curves; at most six are told apart by colour.
        curves: Vec<Curve>,
    },
    /// A box for each: the middle half of its values with the median, and lines to the least and the greatest.
    Boxes {
        /// Of the values.
        unit: String,
        /// From top to bottom.
        boxes: Vec<(String, Vec<f64>)>,
    },
    /// A value for each second.
    Seconds {
        /// Of the values.
        unit: String,
        /// Names and values; at most six are told apart by colour.
        series: Vec<(String, Vec<f64>)>,
    },
}

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// The value; `None` where nothing was measured.
    pub value: Option<f64>,
    /// The interval of the value.
    pub interval: Option<(f64, f64)>,
}

/// A curve with the marks of what was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// (across, value) of each run.
    pub points: Vec<(f64, f64)>,
    /// Where runs failed, and why.
    pub failed: Vec<(f64, String)>,
    /// The fitted law, drawn as a line; without it the means of the points are joined.
    pub fitted: Vec<(f64, f64)>,
    /// Where it bends.
    pub knee: Option<f64>,
}
