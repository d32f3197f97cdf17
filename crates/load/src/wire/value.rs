//! Parameters of a statement, and their two encodings: binary (prepared) and SQL text (fallback).

use std::io::Write as _;

/// A parameter of a statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL `NULL`.
    Null,
    /// A 64-bit integer.
    Int(i64),
    /// A decimal number: `units` x 10^-`scale`. It stays exact: a string parameter would turn
    /// `decimal + ?` into floating point on the server.
    Decimal {
        /// The number without its decimal point.
        units: i64,
        /// Digits after the decimal point.
        scale: u8,
    },
    /// A string, or a date and time in SQL notation.
    Text(&'a str),
}

impl Value<'_> {
    /// Money with two digits after the point.
    pub fn cents(units: i64) -> Self {
        Self::Decimal { units, scale: 2 }
    }

    /// The parameter type of the binary protocol (`MYSQL_TYPE_LONGLONG`, `_NEWDECIMAL`, `_VAR_STRING`, `_NULL`).
    fn type_code(self) -> u8 {
        match self {
            Self::Null => 6,
            Self::Int(_) => 8,
            Self::Decimal { .. } => 246,
            Self::Text(_) => 253,
        }
    }

    fn write_binary(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
            Self::Decimal { units, scale } => {
                let at = out.len();
                out.push(0);
                write_decimal(units, scale, out);
                // At most 20 digits, a sign and a point: always a one-byte length.
                out[at] = (out.len() - at - 1) as u8;
            }
            Self::Text(s) => {
                write_lenenc(s.len() as u64, out);
                out.extend_from_slice(s.as_bytes());
            }
        }
    }

    fn write_sql(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Int(v) => {
                let _ = write!(out, "{v}");
            }
            Self::Decimal { units, scale } => write_decimal(units, scale, out),
            Self::Text(s) => {
                out.push(b'\'');
                for &b in s.as_bytes() {
                    if b == b'\'' || b == b'\\' {
                        out.push(b'\\');
                    }
                    out.push(b);
                }
                out.push(b'\'');
            }
        }
    }
}

/// Appends `units` x 10^-`scale` in decimal notation.
pub fn write_decimal(units: i64, scale: u8, out: &mut Vec<u8>) {
    if units < 0 {
        out.push(b'-');
    }
    let magnitude = units.unsigned_abs();
    let divisor = 10u64.pow(u32::from(scale));
    let _ = write!(out, "{}", magnitude / divisor);
    if scale > 0 {
        let _ = write!(out, ".{:0width$}", magnitude % divisor, width = usize::from(scale));
    }
}

/// Appends a length-encoded integer.
pub fn write_lenenc(value: u64, out: &mut Vec<u8>) {
    match value {
        0..=250 => out.push(value as u8),
        251..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends the payload of `COM_STMT_EXECUTE`. The parameter types travel only while `bind` is set: the
/// server remembers them.
pub fn write_execute(statement: u32, values: &[Value<'_>], bind: bool, out: &mut Vec<u8>) {
    out.push(0x17);
    out.extend_from_slice(&statement.to_le_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor, one iteration
    if values.is_empty() {
        return;
    }
    let nulls = out.len();
    out.resize(nulls + values.len().div_ceil(8), 0);
    out.push(u8::from(bind));
    if bind {
        for value in values {
            out.extend_from_slice(&[value.type_code(), 0]);
        }
    }
    for (i, value) in values.iter().enumerate() {
        if *value == Value::Null {
            out[nulls + i / 8] |= 1 << (i % 8);
        }
        value.write_binary(out);
    }
}

/// Appends the payload of `COM_QUERY` with the values in the place of the statement's question marks.
pub fn write_query(sql: &str, values: &[Value<'_>], out: &mut Vec<u8>) {
    out.push(0x03);
    let mut parts = sql.split('?');
    out.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for (part, value) in parts.zip(values) {
        value.write_sql(out);
        out.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(units: i64, scale: u8) -> String {
        let mut out = Vec::new();
        write_decimal(units, scale, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decimals_keep_their_sign_and_their_zeros() {
        assert_eq!(decimal(-5, 2), "-0.05");
        assert_eq!(decimal(12_345, 2), "123.45");
        assert_eq!(decimal(1800, 4), "0.1800");
        assert_eq!(decimal(7, 0), "7");
    }

    #[test]
    fn an_execute_packet_has_types_only_when_it_binds() {
        let values = [Value::Int(1), Value::Null, Value::Text("ab"), Value::cents(-150)];
        let mut bound = Vec::new();
        write_execute(7, &values, true, &mut bound);
        let expected = [
            &[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0][..],
            &[0b10, 1, 8, 0, 6, 0, 253, 0, 246, 0],
            &1i64.to_le_bytes(),
            b"\x02ab\x05-1.50",
        ]
        .concat();
        assert_eq!(bound, expected);
        let mut again = Vec::new();
        write_execute(7, &values, false, &mut again);
        assert_eq!(again.len(), bound.len() - 8);
    }

    #[test]
    fn text_statements_quote_what_they_must() {
        let mut out = Vec::new();
        write_query("SELECT ?, ?, ?", &[Value::Int(-3), Value::Text("o'\\"), Value::Null], &mut out);
        assert_eq!(out, b"\x03SELECT -3, 'o\\'\\\\', NULL");
    }
}
