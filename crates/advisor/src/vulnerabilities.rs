//! Known holes, by product and by the release that closes them: data with dates, not code.

use knobs::{Flavour, Version};

const TABLE: &str = include_str!("../data/vulnerabilities.txt");

/// When the table was made: what came after it is not in it.
pub(crate) const LOOKED_UP: &str = "2026-12-01";

/// A hole that is open in a range of versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hole {
    flavour: Flavour,
    first: Version,
    /// The first release of the range without it.
    pub(crate) fixed: Version,
    /// CVSS base score, 0 to 10.
    pub(crate) score: f64,
    /// Its number.
    pub(crate) cve: &'static str,
    /// `YYYY-MM-DD`.
    pub(crate) published: &'static str,
    /// Only in a cluster's node.
    pub(crate) galera: bool,
    /// What it lets whom do.
    pub(crate) text: &'static str,
}

/// The holes that are open in a version, the worst first.
pub(crate) fn open_in(flavour: Flavour, version: Version, galera: bool) -> Vec<Hole> {
    let mut holes: Vec<Hole> = rows()
        .filter(|h| h.flavour == flavour && h.first <= version && version < h.fixed && (galera || !h.galera))
        .collect();
    holes.sort_by(|a, b| b.score.total_cmp(&a.score));
    holes
}

fn rows() -> impl Iterator<Item = Hole> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.splitn(8, ' ');
        let mut word = || words.next();
        Some(Hole {
            flavour: word()?.parse().ok()?,
            first: word()?.parse().ok()?,
            fixed: word()?.parse().ok()?,
            score: word()?.parse().ok()?,
            cve: word()?,
            published: word()?,
            galera: word()? == "galera",
            text: word()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_makes_sense() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert_eq!(rows().count(), lines);
        for hole in rows() {
            assert!(hole.first < hole.fixed && (0.0..=10.0).contains(&hole.score), "{hole:?}");
            assert!(hole.cve.starts_with("CVE-") && hole.published < LOOKED_UP, "{hole:?}");
        }
    }

    #[test]
    fn a_hole_is_open_until_the_release_that_closes_it() {
        let open = |version| open_in(Flavour::MySql, version, false).len();
        assert_eq!(open(Version::new(8, 0, 44)), 1);
        assert_eq!(open(Version::new(8, 0, 45)), 0);
        assert_eq!(open(Version::new(9, 5, 0)), 2);
        assert_eq!(open(Version::new(9, 7, 0)), 0);
    }
}
