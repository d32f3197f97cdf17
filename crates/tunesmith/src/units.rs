//! Arguments with units.

use std::time::Duration;

/// Parses `90`, `90s`, `15m`, `2h` or `1h30m`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration; write 90s, 15m or 1h30m");
    let mut seconds = 0.0;
    let mut number = String::new();
    for c in text.trim().chars() {
        if c.is_ascii_digit() || c == '.' {
            number.push(c);
            continue;
        }
        let unit = match c {
            's' => 1.0,
            'm' => 60.0,
            'h' => 3600.0,
            _ => return Err(wrong()),
        };
        seconds += number.parse::<f64>().map_err(|_| wrong())? * unit;
        number.clear();
    }
    if !number.is_empty() {
        seconds += number.parse::<f64>().map_err(|_| wrong())?;
    } else if seconds == 0.0 && !text.contains('0') {
        return Err(wrong());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("15m", 900.0),
            ("1h30m", 5400.0),
            ("0.5s", 0.5),
            ("0", 0.0),
            ("0s", 0.0),
        ] {
            assert_eq!(duration(text).unwrap().as_secs_f64(), seconds, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["", "s", "fast", "10 parsecs", "-5s", "1.2.3s", "1e400h"] {
            assert!(duration(text).unwrap_err().contains("15m"), "{text}");
        }
    }
}
