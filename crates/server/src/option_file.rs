//! MySQL's option files (`my.cnf`), as its clients read them.
//!
//! Groups in brackets, `name=value` lines, comments from `#` or `;`, quoted values with escapes, `!include FILE` and
//! `!includedir FOLDER`. Source: MySQL Reference Manual, "Using Option Files". Later lines win over earlier ones, and
//! dashes and underscores in names are the same.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Files may include one another; this deep is not meant but a circle.
const DEEPEST_INCLUDE: usize = 10;

/// The options of some groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OptionFile {
    values: BTreeMap<String, String>,
    skipped: Vec<PathBuf>,
}

/// An option file that cannot be read.
#[derive(Debug)]
pub struct OptionFileError {
    path: PathBuf,
    kind: OptionFileErrorKind,
}

/// What kind of failure it was.
#[derive(Debug)]
pub enum OptionFileErrorKind {
    /// The file cannot be read.
    Io(io::Error),
    /// A line (its number) that is none of the forms above.
    Line(usize, String),
    /// Files include one another in a circle, or too deeply.
    IncludedTooDeeply,
}

impl OptionFileError {
    /// What kind of failure it was.
    pub fn kind(&self) -> &OptionFileErrorKind {
        &self.kind
    }
}

impl fmt::Display for OptionFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to read the option file {}", self.path.display())?;
        match &self.kind {
            OptionFileErrorKind::Io(_) => Ok(()),
            // Not the line itself: it may hold a password.
            OptionFileErrorKind::Line(number, what) => write!(f, ": line {number}: {what}"),
            OptionFileErrorKind::IncludedTooDeeply => f.write_str(": files include one another in a circle"),
        }
    }
}

impl std::error::Error for OptionFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            OptionFileErrorKind::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl OptionFile {
    /// Reads the named groups of a file and of what it includes, on top of what was read before.
    ///
    /// # Errors
    /// If the file cannot be read or understood. A file that everybody may write to is skipped, as MySQL's own
    /// clients do; [`skipped`](Self::skipped) tells.
    pub fn read(&mut self, path: &Path, groups: &[&str]) -> Result<(), OptionFileError> {
        self.read_included(path, groups, 0)
    }

    fn read_included(&mut self, path: &Path, groups: &[&str], depth: usize) -> Result<(), OptionFileError> {
        let failed = |kind| OptionFileError { path: path.to_owned(), kind };
        if depth > DEEPEST_INCLUDE {
            return Err(failed(OptionFileErrorKind::IncludedTooDeeply));
        }
        let io_failed = |e| failed(OptionFileErrorKind::Io(e));
        if is_open_to_all(path).map_err(io_failed)? {
            self.skipped.push(path.to_owned());
            return Ok(());
        }
        let text = String::from_utf8_lossy(&std::fs::read(path).map_err(io_failed)?).into_owned();
        let mut wanted = false;
        for (number, line) in text.lines().enumerate() {
            let line = parse_line(line).map_err(|e| failed(OptionFileErrorKind::Line(number + 1, e)))?;
            match line {
                Line::Nothing => {}
                Line::Group(name) => wanted = groups.contains(&name),
                Line::Include(file) => {
                    self.read_included(&relative(path, file), groups, depth + 1)?;
                }
                Line::IncludeDir(folder) => {
                    let folder = relative(path, folder);
                    for file in option_files(&folder).map_err(io_failed)? {
                        self.read_included(&file, groups, depth + 1)?;
                    }
                }
                Line::Option(name, value) if wanted => {
                    self.values.insert(name, value);
                }
                Line::Option(..) => {}
            }
        }
        Ok(())
    }

    /// An option's value; `Some("")` where the file names it without one. Written with dashes.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Files that were not read because everybody may write to them.
    pub fn skipped(&self) -> &[PathBuf] {
        &self.skipped
    }
}

fn is_open_to_all(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path)?;
    Ok(metadata.is_file() && metadata.permissions().mode() & 0o002 != 0)
}

fn relative(file: &Path, named: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(named)
}

/// The folder's files that end in `.cnf`, in order of name. A folder that is not there has none.
fn option_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = entries.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "cnf") && path.is_file());
    files.sort();
    Ok(files)
}

#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Nothing,
    Group(&'a str),
    Include(&'a str),
    IncludeDir(&'a str),
    Option(String, String),
}

fn parse_line(line: &str) -> Result<Line<'_>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Ok(Line::Nothing);
    }
    if let Some(rest) = line.strip_prefix('[') {
        let (name, _) = rest.split_once(']').ok_or("a group without its closing bracket")?;
        return Ok(Line::Group(name.trim()));
    }
    if let Some(directive) = line.strip_prefix('!') {
        return match directive.split_once(char::is_whitespace) {
            Some(("include", file)) => Ok(Line::Include(file.trim())),
            Some(("includedir", folder)) => Ok(Line::IncludeDir(folder.trim())),
            _ => Err("only !include and !includedir are known".into()),
        };
    }
    let line = &line[..comment_start(line)];
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    let name = name.trim().replace('_', "-");
    if name.is_empty() {
        return Err("a value without a name".into());
    }
    Ok(Line::Option(name, unquote(value.trim())))
}

/// Where a comment begins in an option's line, or its end: `#` outside quotes.
fn comment_start(line: &str) -> usize {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return at,
            (None, '\'' | '"') if !escaped => quote = Some(c),
            (Some(q), c) if c == q && !escaped => quote = None,
            _ => {}
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line.len()
}

/// The value without its quotes, escapes resolved: `\b \t \n \r \\ \s` and quotes; other backslashes stay.
fn unquote(value: &str) -> String {
    let quoted = ['\'', '"'].iter().find_map(|q| value.strip_prefix(*q)?.strip_suffix(*q));
    let mut chars = quoted.unwrap_or(value).chars().peekable();
    let mut plain = String::with_capacity(value.len());
    while let Some(c) = chars.next() {
        let meant = match (c, chars.peek()) {
            ('\\', Some('b')) => Some('\u{8}'),
            ('\\', Some('t')) => Some('\t'),
            ('\\', Some('n')) => Some('\n'),
            ('\\', Some('r')) => Some('\r'),
            ('\\', Some('s')) => Some(' '),
            ('\\', Some(next @ ('\\' | '\'' | '"'))) => Some(*next),
            _ => None,
        };
        if meant.is_some() {
            chars.next();
        }
        plain.push(meant.unwrap_or(c));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> OptionFile {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        std::fs::write(&path, text).unwrap();
        let mut file = OptionFile::default();
        file.read(&path, &["client"]).unwrap();
        file
    }

    #[test]
    fn only_the_wanted_groups_count_and_later_lines_win() {
        let file = read("[mysqld]\nport=1\n[client]\nport=2\nport = 3\n[mysqldump]\nport=4\n");
        assert_eq!(file.get("port"), Some("3"));
    }

    #[test]
    fn comments_quotes_and_escapes() {
        let file = read(
            "  [client]  \n# a\n; b\nuser=ann # who\npassword=\"a#b\\\"c \"\nhost = 'h'\nssl_ca=/x y/ca.pem\ncompress\nsocket=\\\\run\\q\n",
        );
        assert_eq!(file.get("user"), Some("ann"));
        assert_eq!(file.get("password"), Some("a#b\"c "));
        assert_eq!(file.get("host"), Some("h"));
        assert_eq!(file.get("ssl-ca"), Some("/x y/ca.pem"));
        assert_eq!(file.get("compress"), Some(""));
        assert_eq!(file.get("socket"), Some("\\run\\q"));
        assert_eq!(file.get("nothing"), None);
    }

    #[test]
    fn includes_are_read_where_they_stand() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        std::fs::create_dir(dir.path().join("conf.d")).unwrap();
        at("my.cnf", "[client]\nuser=a\n!include other\n!includedir conf.d\n!includedir none\n");
        at("other", "[client]\nuser=b\nport=1\n");
        at("conf.d/2.cnf", "[client]\nport=3\n");
        at("conf.d/1.cnf", "[client]\nport=2\n");
        at("conf.d/note.txt", "no option file");
        let mut file = OptionFile::default();
        file.read(&dir.path().join("my.cnf"), &["client"]).unwrap();
        assert_eq!((file.get("user"), file.get("port")), (Some("b"), Some("3")));
    }

    #[test]
    fn a_circle_of_includes_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        std::fs::write(&path, "!include my.cnf\n").unwrap();
        let error = OptionFile::default().read(&path, &["client"]).unwrap_err();
        assert!(matches!(error.kind(), OptionFileErrorKind::IncludedTooDeeply));
    }

    #[test]
    fn a_bad_line_is_named_by_number_and_its_text_is_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        std::fs::write(&path, "[client]\n=hunter2\n").unwrap();
        let error = OptionFile::default().read(&path, &["client"]).unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_file_that_everybody_may_write_to_is_skipped() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        std::fs::write(&path, "[client]\nuser=mallory\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        let mut file = OptionFile::default();
        file.read(&path, &["client"]).unwrap();
        assert_eq!((file.get("user"), file.skipped().len()), (None, 1));
    }

    /// How a person would write a value that needs it: in double quotes, with escapes.
    fn quote(value: &str) -> String {
        let mut text = String::from("\"");
        for c in value.chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                c => text.push(c),
            }
        }
        text.push('"');
        text
    }

    proptest! {
        #[test]
        fn any_value_survives_being_quoted(value in "[^\0\u{b}\u{c}\u{85}\u{2028}\u{2029}]{0,40}") {
            let line = format!("password = {} # comment", quote(&value));
            prop_assert_eq!(parse_line(&line).unwrap(), Line::Option("password".into(), value));
        }

        #[test]
        fn plain_values_need_no_quotes(value in "[a-zA-Z0-9/._:-]{1,40}") {
            let line = format!("ssl_ca={value}");
            prop_assert_eq!(parse_line(&line).unwrap(), Line::Option("ssl-ca".into(), value));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            for line in text.lines() {
                let _ = parse_line(line);
            }
        }
    }
}
