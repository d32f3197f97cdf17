//! Names that look like one that does not exist.

/// More are no help.
const SHOWN: usize = 3;

/// At most three names whose edit distance from `wanted` is small for its length, the nearest first. A missing `db.` in front is forgiven.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let bare = |name: &str| name.strip_prefix("db.").unwrap_or(name).to_owned();
    let wanted = bare(wanted);
    let limit = wanted.chars().count() / 3;
    let mut found: Vec<(usize, &str)> =
        names.map(|name| (distance(&wanted, &bare(name)), name)).filter(|(far, _)| *far <= limit).collect();
    found.sort_by_key(|(far, _)| *far);
    found.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
}

/// Levenshtein's distance: the fewest insertions, deletions and replacements.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (a, b, edits) in
            [("", "", 0), ("m5", "m5", 0), ("m5", "m6", 1), ("kitten", "sitting", 3), ("", "abc", 3)]
        {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
    }
}
