//! Writes HTML and SVG so that it can't come out unbalanced or unescaped.
//!
//! Elements close with their closure, every text and attribute value passes [`escape`], and names are `'static`: they come from
//! this crate and never from a document.

use std::fmt::{self, Display, Write};

/// An attribute: its name, and anything that can be printed as its value.
pub(crate) type Attr<'a> = (&'static str, &'a dyn Display);

/// Markup under construction.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    text: String,
}

impl Markup {
    /// Starts with a document type, which is the one thing that is not an element.
    pub fn html5() -> Self {
        Self { text: "<!DOCTYPE html>\n".to_owned() }
    }

    /// An element with what the closure puts into it.
    pub fn el(&mut self, name: &'static str, attributes: &[Attr<'_>], content: impl FnOnce(&mut Self)) {
        self.open(name, attributes);
        self.text.push('>');
        content(self);
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
        if is_block(name) {
            self.text.push('\n');
        }
    }

    /// An element that has no content: a void element of HTML, or an empty one of SVG.
    pub fn leaf(&mut self, name: &'static str, attributes: &[Attr<'_>]) {
        self.open(name, attributes);
        self.text.push_str("/>");
    }

    /// An element with nothing but text in it.
    pub fn line(&mut self, name: &'static str, attributes: &[Attr<'_>], text: impl AsRef<str>) {
        self.el(name, attributes, |m| m.text(text));
    }

    /// Escaped text.
    pub fn text(&mut self, text: impl AsRef<str>) {
        escape(text.as_ref(), &mut self.text);
    }

    /// A style sheet or script of ours, as it is.
    pub fn verbatim(&mut self, text: &'static str) {
        self.text.push_str(text);
    }

    /// The markup.
    pub fn finish(self) -> String {
        self.text
    }

    fn open(&mut self, name: &'static str, attributes: &[Attr<'_>]) {
        self.text.push('<');
        self.text.push_str(name);
        let mut value = String::new();
        for (key, shown) in attributes {
            value.clear();
            // Writing to a string can't fail; a Display that fails leaves the value cut short.
            let _ = write!(value, "{shown}");
            if value.is_empty() && *key == "class" {
                continue;
            }
            self.text.push(' ');
            self.text.push_str(key);
            self.text.push_str("=\"");
            escape(&value, &mut self.text);
            self.text.push('"');
        }
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "head"
            | "style"
            | "script"
            | "title"
            | "section"
            | "header"
            | "footer"
            | "main"
            | "figure"
            | "p"
            | "h1"
            | "h2"
            | "h3"
            | "tr"
            | "thead"
            | "tbody"
            | "table"
            | "svg"
            | "div"
            | "li"
            | "ul"
            | "dl"
    )
}

/// Appends `text` with everything escaped that means something in HTML, in an attribute or between tags. Control characters,
/// which are errors in both, become U+FFFD.
pub(crate) fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            '\n' | '\t' => into.push(c),
            // HTML parsers turn a carriage return into a line feed.
            '\r' => into.push('\n'),
            c if c.is_control() => into.push('\u{fffd}'),
            c => into.push(c),
        }
    }
}

/// A coordinate in pixels, to a tenth: more digits are only bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Px(pub f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (self.0 * 10.0).round() / 10.0;
        // Without this, -0 is a value of its own.
        write!(f, "{}", if rounded == 0.0 { 0.0 } else { rounded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut m = Markup::default();
        m.el("b", &[("title", &"\"><script>")], |m| m.text("a < b & 'c'\u{0}"));
        assert_eq!(
            m.finish(),
            "<b title=\"&quot;&gt;&lt;script&gt;\">a &lt; b &amp; &#39;c&#39;\u{fffd}</b>"
        );
    }

    #[test]
    fn coordinates_are_short() {
        let shown: Vec<String> = [1.0, 2.25, -0.01, 33.333].iter().map(|&v| Px(v).to_string()).collect();
        assert_eq!(shown, ["1", "2.3", "0", "33.3"]);
    }
}
