//! Every number that a person reads is formatted here.

use crate::document::{Better, Objective};
use serde_json::Value;

const KIB: u64 = 1 << 10;
const SUFFIXES: [(u64, &str); 4] = [(KIB.pow(4), "T"), (KIB.pow(3), "G"), (KIB.pow(2), "M"), (KIB, "K")];

/// Bytes as MySQL writes sizes: `128M`, `1.5G`. Exact: what no suffix shows with two decimals is printed in full.
pub fn bytes(bytes: u64) -> String {
    for (size, suffix) in SUFFIXES {
        if bytes < size {
            continue;
        }
        // Exact in hundredths of the suffix? In 128 bits, since 16 E times 100 is more than 64 hold.
        let hundredths = u128::from(bytes) * 100;
        if hundredths.is_multiple_of(u128::from(size)) {
            let hundredths = hundredths / u128::from(size);
            return format!(
                "{}{suffix}",
                trim_zeros(&format!("{}.{:02}", hundredths / 100, hundredths % 100))
            );
        }
    }
    bytes.to_string()
}

/// The memory of a machine, rounded: `15.6 GiB`.
pub fn memory(bytes: u64) -> String {
    let (size, unit) = if bytes >= KIB.pow(3) { (KIB.pow(3), "GiB") } else { (KIB.pow(2), "MiB") };
    format!("{} {unit}", trim_zeros(&format!("{:.1}", bytes as f64 / size as f64)))
}

/// A latency: `840 µs`, `12.3 ms`, `1.25 s`.
pub fn micros(us: f64) -> String {
    let (value, unit) = micros_unit(us);
    if unit == "µs" { format!("{value:.0} µs") } else { format!("{} {unit}", significant(value)) }
}

/// A latency that is a round number, as on axes: `20 ms`.
pub fn round_micros(us: f64) -> String {
    let (value, unit) = micros_unit(us);
    format!("{} {unit}", trim_zeros(&significant(value)))
}

fn micros_unit(us: f64) -> (f64, &'static str) {
    // The limits are where rounding would reach the next unit.
    match us {
        us if us < 999.5 => (us, "µs"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    }
}

/// A length of time: `9.5 s`, `45 s`, `12 min 5 s`, `1 h 3 min`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "-".to_owned();
    }
    if seconds < 9.95 {
        return format!("{} s", trim_zeros(&format!("{seconds:.1}")));
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 if whole.is_multiple_of(60) => format!("{} min", whole / 60),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A rate without its unit: `8.25`, `41.3`, `412`, `1,204`.
pub fn rate(value: f64) -> String {
    trim_zeros(&significant(value))
}

/// A whole number with commas between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A ratio as a difference: 1.523 is `+52.3 %`.
pub fn signed_percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    // A true minus sign is as wide as the plus it stands beside.
    let sign = if percent > -0.05 { "+" } else { "\u{2212}" };
    format!("{sign}{}", share_text(percent.abs()))
}

/// A share as a percentage: 0.274 is `27.4 %`.
pub fn percent(share: f64) -> String {
    share_text(share * 100.0)
}

/// A value of an objective with its unit.
pub fn objective(value: f64, objective: &Objective) -> String {
    match objective.unit.as_str() {
        "us" => micros(value),
        unit => format!("{} {unit}", rate(value)).trim_end().to_owned(),
    }
}

/// A gain as a change of the objective itself: a latency that is better by the factor 2 is `−50.0 %`.
pub fn gain(ratio: f64, better: Better) -> String {
    match better {
        Better::Higher => signed_percent(ratio),
        Better::Lower => signed_percent(1.0 / ratio),
    }
}

/// A knob's value as a person reads it. `unit` is the unit of its record, if it has one.
pub fn knob_value(value: &Value, unit: Option<&str>) -> String {
    let text = match value {
        Value::Null => return "not known".to_owned(),
        Value::Bool(true) => return "ON".to_owned(),
        Value::Bool(false) => return "OFF".to_owned(),
        Value::String(text) if text.is_empty() => return "(empty)".to_owned(),
        Value::String(text) => return text.clone(),
        Value::Number(number) => match (unit, number.as_u64()) {
            (Some("bytes"), Some(n)) => return bytes(n),
            _ => number.to_string(),
        },
        other => return other.to_string(),
    };
    match unit {
        Some("us" | "microseconds") => format!("{text} µs"),
        Some("ms" | "milliseconds") => format!("{text} ms"),
        Some("s" | "seconds") => format!("{text} s"),
        Some("percent" | "%") => format!("{text} %"),
        _ => text,
    }
}

/// Three significant digits below 100, none after the point above.
fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = value.abs();
    // The limits are where rounding would reach the next power of ten.
    if size < 9.995 {
        format!("{value:.2}")
    } else if size < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{}{}", if value < 0.0 { "-" } else { "" }, count(size.round() as u64))
    }
}

fn share_text(percent: f64) -> String {
    if !percent.is_finite() {
        return "- %".to_owned();
    }
    if percent >= 999.95 { format!("{} %", count(percent.round() as u64)) } else { format!("{percent:.1} %") }
}

fn trim_zeros(number: &str) -> String {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        number.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_mysql_writes_them_and_stay_exact() {
        assert_eq!(bytes(128 << 20), "128M");
        assert_eq!(bytes(3 << 29), "1.5G");
        assert_eq!(bytes(16 << 10), "16K");
        assert_eq!(bytes(1000), "1000");
        assert_eq!(bytes((128 << 20) + 1), "134217729");
        assert_eq!(bytes((1 << 30) + (1 << 20)), "1025M");
        assert_eq!(bytes(u64::MAX), u64::MAX.to_string());
    }

    #[test]
    fn latencies_take_the_unit_that_fits() {
        assert_eq!(micros(840.0), "840 µs");
        assert_eq!(micros(12_340.0), "12.3 ms");
        assert_eq!(micros(27_000.0), "27.0 ms");
        assert_eq!(round_micros(20_000.0), "20 ms");
        assert_eq!(micros(999.7), "1.00 ms");
        assert_eq!(micros(1_250_000.0), "1.25 s");
    }

    #[test]
    fn durations_are_read_aloud() {
        let shown: Vec<String> = [0.0, 9.52, 59.7, 60.0, 725.0, 3780.0].map(duration).into();
        assert_eq!(shown, ["0 s", "9.5 s", "1 min", "1 min", "12 min 5 s", "1 h 3 min"]);
    }

    #[test]
    fn rates_keep_three_digits() {
        let shown: Vec<String> = [0.0, 8.251, 9.999, 41.29, 412.4, 1204.2, 1_234_567.0].map(rate).into();
        assert_eq!(shown, ["0", "8.25", "10", "41.3", "412", "1,204", "1,234,567"]);
    }

    #[test]
    fn ratios_are_signed_and_never_minus_zero() {
        assert_eq!(signed_percent(1.523), "+52.3 %");
        assert_eq!(signed_percent(0.969), "\u{2212}3.1 %");
        assert_eq!(signed_percent(0.9999), "+0.0 %");
        assert_eq!(signed_percent(13.0), "+1,200 %");
    }

    #[test]
    fn a_gain_in_latency_is_a_fall() {
        assert_eq!(gain(2.0, Better::Lower), "\u{2212}50.0 %");
        assert_eq!(gain(2.0, Better::Higher), "+100.0 %");
    }

    #[test]
    fn a_knob_shows_its_unit() {
        assert_eq!(knob_value(&Value::from(1u64 << 31), Some("bytes")), "2G");
        assert_eq!(knob_value(&Value::from(200), Some("us")), "200 µs");
        assert_eq!(knob_value(&Value::from(false), None), "OFF");
        assert_eq!(knob_value(&Value::from("O_DIRECT"), None), "O_DIRECT");
        assert_eq!(knob_value(&Value::Null, Some("bytes")), "not known");
    }
}
