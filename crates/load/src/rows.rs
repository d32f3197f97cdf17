//! Rows on their way to the server: as lines of `LOAD DATA`, or as tuples of a multi-row `INSERT`.

use crate::wire::write_decimal;
use std::io::Write as _;

/// How rows travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadMethod {
    /// `LOAD DATA LOCAL INFILE`, streamed from memory.
    LoadData,
    /// `INSERT` of many rows a packet.
    Insert,
}

/// Writes rows of plain ASCII values without quotes, tabs or backslashes.
pub struct RowWriter<'a> {
    out: &'a mut Vec<u8>,
    method: LoadMethod,
    first: bool,
}

impl<'a> RowWriter<'a> {
    /// Begins a row at the end of `out`.
    pub fn row(method: LoadMethod, out: &'a mut Vec<u8>) -> Self {
        if method == LoadMethod::Insert {
            out.push(b'(');
        }
        Self { out, method, first: true }
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(if self.method == LoadMethod::LoadData { b'\t' } else { b',' });
        }
    }

    /// An integer.
    pub fn int(&mut self, value: i64) -> &mut Self {
        self.separate();
        if (0..10).contains(&value) {
            self.out.push(b'0' + value as u8);
        } else {
            let _ = write!(self.out, "{value}");
        }
        self
    }

    /// A decimal number of `units` x 10^-`scale`.
    pub fn decimal(&mut self, units: i64, scale: u8) -> &mut Self {
        self.separate();
        write_decimal(units, scale, self.out);
        self
    }

    /// A string that `fill` appends.
    pub fn text(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.separate();
        match self.method {
            LoadMethod::LoadData => fill(self.out),
            LoadMethod::Insert => {
                self.out.push(b'\'');
                fill(self.out);
                self.out.push(b'\'');
            }
        }
        self
    }

    /// A constant string.
    pub fn str(&mut self, value: &str) -> &mut Self {
        self.text(|out| out.extend_from_slice(value.as_bytes()))
    }

    /// NULL.
    pub fn null(&mut self) -> &mut Self {
        self.separate();
        self.out.extend_from_slice(if self.method == LoadMethod::LoadData { b"\\N" } else { b"NULL" });
        self
    }

    /// Ends the row; tuples are separated by the caller's next row.
    pub fn end(&mut self) {
        self.out.extend_from_slice(if self.method == LoadMethod::LoadData { b"\n" } else { b")," });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_row_in_both_forms() {
        let write = |method| {
            let mut out = Vec::new();
            RowWriter::row(method, &mut out).int(7).decimal(-1000, 2).str("ab").null().int(12).end();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(write(LoadMethod::LoadData), "7\t-10.00\tab\t\\N\t12\n");
        assert_eq!(write(LoadMethod::Insert), "(7,-10.00,'ab',NULL,12),");
    }
}
