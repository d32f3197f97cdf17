//! What MySQLTuner advises, in values: its list "Variables to adjust" read line by line.
//!
//! The list is prose for people. Its shapes, and what is made of them: `(= 768M)` and `=0` that value; `(>= 1.2G)` and `(start at 4)` at least
//! that, so that; `(> 256.0K)` more than there is now, so twice as much, which is the next step that the script would be content with; `(< 28800)`
//! half; `(16.4M)` that value. Sizes are in powers of 1024. What has none of these shapes is no value, and is told as such.

use std::fmt;

/// What the script wants of one variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// The variable.
    pub knob: String,
    /// The value to set, as in an option file.
    pub value: String,
    /// The line that it was read from.
    pub line: String,
}

/// The list in a run's output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Advice {
    /// What could be read, in the order of the list; a later line about the same variable replaces an earlier one.
    pub wishes: Vec<Wish>,
    /// Lines of the list that name no value.
    pub unread: Vec<String>,
    /// Whether the script came to its list at all; it may have died before.
    pub complete: bool,
}

impl Advice {
    /// Reads what the script printed with `--nocolor`.
    pub fn read(output: &str) -> Self {
        let mut advice = Self::default();
        let mut lines = output.lines();
        if lines.any(|line| line.trim() == "Variables to adjust:") {
            advice.complete = true;
            for line in lines.map(str::trim).take_while(|line| !line.is_empty()) {
                // The only other lines are warnings between three stars.
                if line.starts_with("***") {
                    continue;
                }
                match wish(line) {
                    Some(wish) => {
                        advice.wishes.retain(|w| w.knob != wish.knob);
                        advice.wishes.push(wish);
                    }
                    None => advice.unread.push(line.to_owned()),
                }
            }
        } else {
            advice.complete = output.contains("No additional performance recommendations");
            // Version 1.9.9 dies on MariaDB 10.11 in the middle of its InnoDB part (a division by innodb_buffer_pool_instances, which is no
            // more); what it had said up to there is followed.
            advice.wishes.extend(output.lines().find_map(ratio_of_logs));
        }
        advice
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.knob, self.value)
    }
}

/// `[!!] Ratio InnoDB log file size / InnoDB Buffer pool size (3.125%): 96.0M * 1/3.0G should be equal to 25%`.
fn ratio_of_logs(line: &str) -> Option<Wish> {
    let text = line.trim().strip_prefix("[!!] Ratio InnoDB log file size / InnoDB Buffer pool size")?;
    let (_, text) = text.split_once("): ")?;
    let (_, text) = text.split_once(" * ")?;
    let (files, text) = text.split_once('/')?;
    let pool = number(text.split(' ').next()?)?;
    let each = pool / files.trim().parse::<f64>().ok().filter(|n| *n >= 1.0)? / 4.0;
    Some(Wish {
        knob: "innodb_log_file_size".into(),
        value: format!("{each:.0}"),
        line: line.trim().to_owned(),
    })
}

fn wish(line: &str) -> Option<Wish> {
    let text = line.strip_prefix("SET ").unwrap_or(line);
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .unwrap_or(text.len());
    let (knob, rest) = text.split_at(end);
    if knob.is_empty() || !knob.contains(['_', '-']) {
        return None;
    }
    // The first mark that is followed by a value; a longer mark comes before the shorter one that it begins with.
    let marks: [(&str, f64); 6] =
        [(">=", 1.0), ("<=", 1.0), ("start at", 1.0), ("=", 1.0), (">", 2.0), ("<", 0.5)];
    let found = marks.iter().filter_map(|(mark, times)| Some((rest.find(mark)?, mark.len(), *times)));
    let (after, times) = match found.min_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1))) {
        Some((at, len, times)) => (&rest[at + len..], times),
        // Nothing but a value in brackets.
        None => (rest.trim_start().strip_prefix('(')?, 1.0),
    };
    let after = after.trim_start();
    let word = after.split([' ', ',', ')', ']']).next().filter(|w| !w.is_empty())?;
    let value = match number(word) {
        Some(n) => format!("{:.0}", (n * times).max(0.0)),
        None if times == 1.0 && word.chars().all(|c| c.is_ascii_uppercase()) => word.to_owned(),
        None => return None,
    };
    Some(Wish { knob: knob.replace('-', "_"), value, line: line.to_owned() })
}

/// `256.0K`, `0B`, `10`.
fn number(text: &str) -> Option<f64> {
    let (digits, times) = match text.char_indices().next_back()? {
        (at, 'B') => (&text[..at], 1.0),
        (at, 'K') => (&text[..at], 1024.0),
        (at, 'M') => (&text[..at], 1024.0 * 1024.0),
        (at, 'G') => (&text[..at], 1024.0 * 1024.0 * 1024.0),
        (at, 'T') => (&text[..at], 1024.0 * 1024.0 * 1024.0 * 1024.0),
        _ => (text, 1.0),
    };
    digits.parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| n * times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &str) -> Vec<(String, String)> {
        let advice = Advice::read(&format!("General recommendations:\n    x\nVariables to adjust:\n{list}"));
        advice.wishes.into_iter().map(|w| (w.knob, w.value)).collect()
    }

    fn one(line: &str) -> Option<String> {
        values(line).pop().map(|(_, value)| value)
    }

    #[test]
    fn every_shape_of_a_line_has_its_value() {
        assert_eq!(one("    innodb_buffer_pool_size (>= 1.5G) if possible."), Some("1610612736".into()));
        assert_eq!(
            one(
                "innodb_log_file_size should be (=768M) if possible, so InnoDB total log files size equals 25% of buffer pool size."
            ),
            Some("805306368".into())
        );
        assert_eq!(
            one("join_buffer_size (> 256.0K, or always use indexes with JOINs)"),
            Some("524288".into())
        );
        assert_eq!(
            one("table_definition_cache(400) > 445 or -1 (autosizing if supported)"),
            Some("890".into())
        );
        assert_eq!(one("binlog_cache_size (16.0M)"), Some("16777216".into()));
        assert_eq!(one("thread_cache_size (start at 4)"), Some("4".into()));
        assert_eq!(one("innodb_buffer_pool_instances(=3)"), Some("3".into()));
        assert_eq!(one("key_buffer_size=0"), Some("0".into()));
        assert_eq!(one("SET innodb_stats_on_metadata = OFF"), Some("OFF".into()));
        assert_eq!(one("wait_timeout (< 28800)"), Some("14400".into()));
        assert_eq!(values("skip-name-resolve=ON"), [("skip_name_resolve".into(), "ON".into())]);
    }

    #[test]
    fn what_names_no_value_is_told_and_not_guessed() {
        let list = "Variables to adjust:\n  *** MySQL's maximum memory usage is dangerously high ***\n    thread_pool_size between 16 and 36 for InnoDB usage\n    set up parameter x to be notify\n    tmp_table_size (> 16M)\n\nafter the list";
        let advice = Advice::read(list);
        assert_eq!(advice.unread.len(), 2, "{advice:?}");
        assert_eq!(advice.wishes.len(), 1);
        assert!(advice.complete);
    }

    #[test]
    fn a_script_that_died_before_its_list_is_not_complete() {
        let died = Advice::read(
            "[!!] Ratio InnoDB log file size / InnoDB Buffer pool size (3.125%): 96.0M * 1/3.0G should be equal to 25%\n\
             Illegal division by zero at /usr/bin/mysqltuner line 6024.",
        );
        assert!(!died.complete);
        assert_eq!(
            died.wishes[0].to_string(),
            "innodb_log_file_size = 805306368",
            "what it said until then counts"
        );
        assert!(Advice::read("No additional performance recommendations are available.").complete);
    }

    #[test]
    fn the_last_word_about_a_variable_counts() {
        assert_eq!(
            values("query_cache_size (=0)\nquery_cache_size (> 1M)"),
            [("query_cache_size".into(), "2097152".into())]
        );
    }
}
