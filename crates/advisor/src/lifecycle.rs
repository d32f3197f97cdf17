//! Until when a series is repaired: data with dates, not code.

use knobs::{Flavour, Version};

const TABLE: &str = include_str!("../data/lifecycle.txt");

/// The last day of public repairs, `YYYY-MM-DD`; `None` for a series that the table does not know.
pub(crate) fn end_of(flavour: Flavour, version: Version) -> Option<&'static str> {
    let series = format!("{}.{}", version.major, version.minor);
    rows().find(|(of, name, _)| *of == flavour && *name == series).map(|(.., end)| end)
}

fn rows() -> impl Iterator<Item = (Flavour, &'static str, &'static str)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        let row = (words.next()?.parse().ok()?, words.next()?, words.next()?);
        // Every date has a source.
        words.next().map(|_| row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert_eq!(rows().count(), lines);
        assert!(rows().all(|(.., end)| end.len() == 10 && end.as_bytes()[4] == b'-'));
    }

    #[test]
    fn a_number_means_something_within_its_flavour_only() {
        assert_eq!(end_of(Flavour::MariaDb, Version::new(10, 6, 4)), Some("2026-07-06"));
        assert_eq!(end_of(Flavour::MySql, Version::new(10, 6, 4)), None);
        assert_eq!(end_of(Flavour::MySql, Version::new(26, 7, 0)), None);
    }
}
