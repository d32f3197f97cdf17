//! Charts as SVG inside the page.
//!
//! They are drawn here rather than with the `kuva` crate (0.6), for what its source shows: it bakes one theme's colours into each
//! element, so that a page can't follow the reader's light or dark setting; its marks carry no classes or titles, so that a dot
//! can't say which trial it is without its own script; its text has a fixed size, unreadable when a figure shrinks to the width of a
//! phone; and a band does not follow a stepped line. Here colours are CSS classes, every mark has a title, and each chart is drawn for
//! two widths, of which the style sheet shows the one that fits.

mod bars;
mod boxes;
mod convergence;
mod curves;
mod importance;
mod latency;
mod proof;
mod scale;
mod throughput;

pub(crate) use bars::bars;
pub(crate) use boxes::boxes;
pub(crate) use convergence::convergence;
pub(crate) use curves::{curves, seconds};
pub(crate) use importance::importance;
pub(crate) use latency::latency;
pub(crate) use proof::proof;
pub(crate) use throughput::throughput;

use crate::document::Objective;
use crate::markup::{Markup, Px};
use crate::units;
use scale::Scale;

/// The widths that each chart is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// Across the page.
    Full,
    /// Half of the page.
    Half,
    /// A phone.
    Phone,
}

impl Width {
    /// In pixels; the style sheet's column is made to match.
    fn px(self) -> f64 {
        match self {
            Self::Full => 1040.0,
            Self::Half => 500.0,
            Self::Phone => 340.0,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Full | Self::Half => "wide",
            Self::Phone => "narrow",
        }
    }
}

/// A figure with its title, what to see in it, and the chart for the page (`width`) and for a phone.
pub(crate) fn figure(
    m: &mut Markup,
    width: Width,
    title: &str,
    caption: &str,
    draw: impl Fn(&mut Markup, Width),
) {
    let class = if width == Width::Full { "figure span" } else { "figure" };
    m.el("figure", &[("class", &class)], |m| {
        m.line("h3", &[], title);
        m.line("p", &[("class", &"caption")], caption);
        draw(m, width);
        draw(m, Width::Phone);
    });
}

/// The drawing itself.
fn svg(m: &mut Markup, width: Width, height: f64, label: &str, content: impl FnOnce(&mut Markup)) {
    let view = format!("0 0 {} {}", Px(width.px()), Px(height));
    let class = format!("chart {}", width.class());
    m.el("svg", &[("class", &class), ("viewBox", &view), ("role", &"img"), ("aria-label", &label)], content);
}

/// Width of a text in the charts' 12 px sans serif, near enough to keep labels apart.
fn text_width(text: &str) -> f64 {
    text.chars()
        .map(
            |c| {
                if matches!(c, 'i' | 'l' | '.' | ',' | ' ' | 'j' | 't' | 'f' | 'I' | '\'') {
                    3.8
                } else {
                    7.0
                }
            },
        )
        .sum()
}

/// A value on an axis; 0 needs no unit.
fn axis_value(value: f64, objective: &Objective) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if objective.unit == "us" {
        units::round_micros(value)
    } else {
        units::objective(value, objective)
    }
}

/// The rectangle that data is drawn in.
#[derive(Debug, Clone, Copy)]
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Horizontal grid lines with their labels on the left.
fn y_grid(m: &mut Markup, plot: Plot, y: &Scale, ticks: &[f64], label: impl Fn(f64) -> String) {
    for &tick in ticks {
        let at = y.at(tick);
        m.leaf(
            "line",
            &[
                ("class", &"grid"),
                ("x1", &Px(plot.left)),
                ("x2", &Px(plot.right)),
                ("y1", &Px(at)),
                ("y2", &Px(at)),
            ],
        );
        let text = label(tick);
        m.line("text", &[("class", &"tick end"), ("x", &Px(plot.left - 8.0)), ("y", &Px(at + 4.0))], text);
    }
}

/// Labels under the horizontal axis, left out where they would touch, and what the axis shows.
fn x_labels(m: &mut Markup, plot: Plot, ticks: &[(f64, String)], name: &str) {
    m.leaf(
        "line",
        &[
            ("class", &"axis"),
            ("x1", &Px(plot.left)),
            ("x2", &Px(plot.right)),
            ("y1", &Px(plot.bottom)),
            ("y2", &Px(plot.bottom)),
        ],
    );
    let mut free = f64::NEG_INFINITY;
    for (at, text) in ticks {
        let half = text_width(text) / 2.0;
        if at - half < free {
            continue;
        }
        free = at + half + 8.0;
        m.line("text", &[("class", &"tick mid"), ("x", &Px(*at)), ("y", &Px(plot.bottom + 18.0))], text);
    }
    let middle = f64::midpoint(plot.left, plot.right);
    m.line("text", &[("class", &"name mid"), ("x", &Px(middle)), ("y", &Px(plot.bottom + 37.0))], name);
}

/// What a legend's marker looks like.
#[derive(Debug, Clone, Copy)]
enum Marker {
    Dot(&'static str),
    Diamond(&'static str),
    Line(&'static str),
    Band(&'static str),
    Cross,
}

/// The legend, in as many rows as the width needs. Returns the height that it took.
fn legend(m: &mut Markup, width: f64, left: f64, entries: &[(Marker, &str)]) -> f64 {
    let (mut x, mut y) = (left, 10.0);
    for (marker, text) in entries {
        let needed = 20.0 + text_width(text);
        if x + needed > width && x > left {
            (x, y) = (left, y + 20.0);
        }
        match marker {
            Marker::Dot(class) => dot(m, class, x + 6.0, y, 5.0, |_| {}),
            Marker::Diamond(class) => diamond(m, class, x + 6.0, y, 6.0, |_| {}),
            Marker::Line(class) => {
                m.leaf(
                    "line",
                    &[
                        ("class", class),
                        ("x1", &Px(x)),
                        ("x2", &Px(x + 13.0)),
                        ("y1", &Px(y)),
                        ("y2", &Px(y)),
                    ],
                );
            }
            Marker::Band(class) => {
                m.leaf(
                    "rect",
                    &[("class", class), ("x", &Px(x)), ("y", &Px(y - 5.0)), ("width", &13), ("height", &10)],
                );
            }
            Marker::Cross => cross(m, x + 6.0, y, |_| {}),
        }
        m.line("text", &[("class", &"key"), ("x", &Px(x + 18.0)), ("y", &Px(y + 4.0))], text);
        x += needed + 16.0;
    }
    y + 14.0
}

/// A dot. The closure puts its title in.
fn dot(m: &mut Markup, class: &str, x: f64, y: f64, r: f64, title: impl FnOnce(&mut Markup)) {
    m.el("circle", &[("class", &class), ("cx", &Px(x)), ("cy", &Px(y)), ("r", &Px(r))], title);
}

/// A square on its corner, with `r` from its middle to each of them.
fn diamond(m: &mut Markup, class: &str, x: f64, y: f64, r: f64, title: impl FnOnce(&mut Markup)) {
    let d = format!("M{} {}l{r} {r}l-{r} {r}l-{r} -{r}z", Px(x), Px(y - r));
    m.el("path", &[("class", &class), ("d", &d)], title);
}

/// The mark of something that failed.
fn cross(m: &mut Markup, x: f64, y: f64, title: impl FnOnce(&mut Markup)) {
    let d = format!("M{} {}l8 8m0 -8l-8 8", Px(x - 4.0), Px(y - 4.0));
    m.el("path", &[("class", &"failed"), ("d", &d)], title);
}

/// A line through points.
fn polyline(m: &mut Markup, class: &str, points: &[(f64, f64)]) {
    let d: Vec<String> = points
        .iter()
        .enumerate()
        .map(|(i, (x, y))| format!("{}{} {}", if i == 0 { 'M' } else { 'L' }, Px(*x), Px(*y)))
        .collect();
    m.leaf("path", &[("class", &class), ("d", &d.concat())]);
}

/// The title that appears when a mark is pointed at.
fn title(text: String) -> impl FnOnce(&mut Markup) {
    move |m| m.line("title", &[], text)
}
