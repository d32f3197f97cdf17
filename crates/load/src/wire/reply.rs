//! What the server sent back, decoded in place: no row is ever copied or allocated.

use super::error::WireError;

/// How a result set's values are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prepared statements.
    Binary,
    /// `COM_QUERY`.
    Text,
}

/// The type byte of a column.
pub type ColumnType = u8;

/// The reply to one statement: its OK packet's numbers and the rows, borrowed from the connection's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// Rows changed.
    pub affected: u64,
    /// Warnings raised.
    pub warnings: u16,
    pub(crate) format: Format,
    pub(crate) columns: &'a [ColumnType],
    /// Whole packets, headers included.
    pub(crate) rows: &'a [u8],
}

impl<'a> Reply<'a> {
    /// The reply of a statement without a result set.
    pub fn done(affected: u64) -> Self {
        Self { affected, warnings: 0, format: Format::Binary, columns: &[], rows: &[] }
    }

    /// The rows in order.
    pub fn rows(&self) -> Rows<'a> {
        Rows { format: self.format, columns: self.columns, rest: self.rows }
    }

    /// The first row; an error if there is none.
    pub fn row(&self) -> Result<Row<'a>, WireError> {
        self.rows().next().ok_or(WireError::Unexpected("the statement returned no row"))
    }

    /// The only value of the first row, as an integer.
    pub fn single_int(&self) -> Result<i64, WireError> {
        self.row()?.int()
    }
}

/// Iterator over the rows of a [`Reply`].
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    format: Format,
    columns: &'a [ColumnType],
    rest: &'a [u8],
}

impl<'a> Iterator for Rows<'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        let (header, rest) = self.rest.split_at_checked(4)?;
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let (payload, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Row::new(self.format, self.columns, payload))
    }
}

/// One row, read from left to right.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    format: Format,
    columns: &'a [ColumnType],
    nulls: &'a [u8],
    rest: &'a [u8],
    at: usize,
}

/// One value as it lies in the packet.
enum Cell<'a> {
    Null,
    Int(i64),
    Float(f64),
    Bytes(&'a [u8]),
}

impl<'a> Row<'a> {
    fn new(format: Format, columns: &'a [ColumnType], payload: &'a [u8]) -> Self {
        let (nulls, rest) = match format {
            // A zero byte, then the bitmap, whose first two bits are reserved.
            Format::Binary => {
                let end = (1 + (columns.len() + 9) / 8).min(payload.len());
                (&payload[1.min(end)..end], &payload[end..])
            }
            Format::Text => (&payload[..0], payload),
        };
        Self { format, columns, nulls, rest, at: 0 }
    }

    fn cell(&mut self) -> Result<Cell<'a>, WireError> {
        let truncated = WireError::Unexpected("a row is shorter than its columns");
        let &kind = self
            .columns
            .get(self.at)
            .ok_or(WireError::Unexpected("a row has fewer columns than were asked for"))?;
        let index = self.at;
        self.at += 1;
        if self.format == Format::Text {
            if self.rest.first() == Some(&0xFB) {
                self.rest = &self.rest[1..];
                return Ok(Cell::Null);
            }
            return lenenc_bytes(&mut self.rest).map(Cell::Bytes).ok_or(truncated);
        }
        if self.nulls.get((index + 2) / 8).is_some_and(|b| b >> ((index + 2) % 8) & 1 == 1) {
            return Ok(Cell::Null);
        }
        let mut fixed = |n: usize| -> Result<&'a [u8], WireError> {
            let (value, rest) = self
                .rest
                .split_at_checked(n)
                .ok_or(WireError::Unexpected("a row is shorter than its columns"))?;
            self.rest = rest;
            Ok(value)
        };
        Ok(match kind {
            1 => Cell::Int(i64::from(fixed(1)?[0] as i8)),
            2 | 13 => Cell::Int(i64::from(i16::from_le_bytes(array(fixed(2)?)))),
            3 | 9 => Cell::Int(i64::from(i32::from_le_bytes(array(fixed(4)?)))),
            8 => Cell::Int(i64::from_le_bytes(array(fixed(8)?))),
            4 => Cell::Float(f64::from(f32::from_le_bytes(array(fixed(4)?)))),
            5 => Cell::Float(f64::from_le_bytes(array(fixed(8)?))),
            7 | 10 | 11 | 12 => {
                let n = usize::from(fixed(1)?[0]);
                Cell::Bytes(fixed(n)?)
            }
            _ => Cell::Bytes(lenenc_bytes(&mut self.rest).ok_or(truncated)?),
        })
    }

    /// The next value as an integer.
    pub fn int(&mut self) -> Result<i64, WireError> {
        self.opt_int()?.ok_or(WireError::Unexpected("a value is NULL where a number must be"))
    }

    /// The next value as an integer, or `None` for NULL.
    pub fn opt_int(&mut self) -> Result<Option<i64>, WireError> {
        Ok(match self.cell()? {
            Cell::Null => None,
            Cell::Int(v) => Some(v),
            Cell::Float(v) => Some(v as i64),
            Cell::Bytes(b) => Some(parse_decimal(b, 0)?),
        })
    }

    /// The next value as a decimal number in units of 10^-`scale`; further digits are cut.
    pub fn decimal(&mut self, scale: u8) -> Result<i64, WireError> {
        match self.cell()? {
            Cell::Null => Err(WireError::Unexpected("a value is NULL where a number must be")),
            Cell::Int(v) => Ok(v * 10i64.pow(u32::from(scale))),
            Cell::Float(v) => Ok((v * 10f64.powi(i32::from(scale))).round() as i64),
            Cell::Bytes(b) => parse_decimal(b, scale),
        }
    }

    /// The next value as bytes; NULL is empty. Numbers of the binary protocol are not converted.
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        match self.cell()? {
            Cell::Bytes(b) => Ok(b),
            Cell::Null => Ok(&[]),
            Cell::Int(_) | Cell::Float(_) => Err(WireError::Unexpected("a number where a string must be")),
        }
    }

    /// The next value as a string, or `None` for NULL. For administration, not the hot path.
    pub fn text(&mut self) -> Result<Option<String>, WireError> {
        Ok(match self.cell()? {
            Cell::Null => None,
            Cell::Int(v) => Some(v.to_string()),
            Cell::Float(v) => Some(v.to_string()),
            Cell::Bytes(b) => Some(String::from_utf8_lossy(b).into_owned()),
        })
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(bytes);
    out
}

/// Takes a length-encoded integer from the front.
pub fn lenenc(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    let width = match first {
        0..=250 => {
            *bytes = rest;
            return Some(u64::from(first));
        }
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(width)?;
    *bytes = rest;
    Some(value.iter().rev().fold(0, |acc, &b| acc << 8 | u64::from(b)))
}

/// Takes a length-encoded string from the front.
pub fn lenenc_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(lenenc(bytes)?).ok()?;
    let (value, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(value)
}

fn parse_decimal(text: &[u8], scale: u8) -> Result<i64, WireError> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    let mut missing: Option<u8> = None;
    for &b in digits {
        match (b, missing) {
            (b'.', None) => missing = Some(scale),
            (b'0'..=b'9', Some(0)) => break,
            (b'0'..=b'9', _) => {
                value = value
                    .checked_mul(10)
                    .and_then(|v| v.checked_add(i64::from(b - b'0')))
                    .ok_or(WireError::Unexpected("a number is too large"))?;
                missing = missing.map(|m| m - 1);
            }
            _ => return Err(WireError::Unexpected("a value is not a number")),
        }
    }
    value = value
        .checked_mul(10i64.pow(u32::from(missing.unwrap_or(scale))))
        .ok_or(WireError::Unexpected("a number is too large"))?;
    Ok(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_in_the_asked_unit() {
        assert_eq!(parse_decimal(b"-12.5", 2).unwrap(), -1250);
        assert_eq!(parse_decimal(b"0.1834", 4).unwrap(), 1834);
        assert_eq!(parse_decimal(b"7", 2).unwrap(), 700);
        assert_eq!(parse_decimal(b"1.999", 2).unwrap(), 199);
        assert!(parse_decimal(b"1x", 0).is_err());
    }

    #[test]
    fn a_binary_row_is_read_from_left_to_right() {
        // (LONG 5, NULL, VARCHAR "ab", LONGLONG -1)
        let payload = [&[0u8, 0b0000_1000, 5, 0, 0, 0, 2, b'a', b'b'][..], &(-1i64).to_le_bytes()].concat();
        let mut row = Row::new(Format::Binary, &[3, 3, 253, 8], &payload);
        assert_eq!(row.int().unwrap(), 5);
        assert_eq!(row.opt_int().unwrap(), None);
        assert_eq!(row.bytes().unwrap(), b"ab");
        assert_eq!(row.int().unwrap(), -1);
        assert!(row.int().is_err(), "a fifth value must be an error, not a panic");
    }

    #[test]
    fn a_cut_row_is_an_error() {
        let mut row = Row::new(Format::Binary, &[3], &[0, 0, 5]);
        assert!(row.int().is_err());
        let mut row = Row::new(Format::Text, &[253], &[9, b'a']);
        assert!(row.bytes().is_err());
    }
}
