//! What the server itself says about its variables.

use super::{Admin, AdminError, AdminErrorKind};
use knobs::LiveVariable;
use std::collections::BTreeMap;

type Record = BTreeMap<String, Option<String>>;

/// Reads every global variable. MariaDB tells ranges, options and whether a variable is read-only; MySQL tells
/// ranges (`variables_info`, 5.7 on) and types (`variables_metadata`, 9 on), never whether it is read-only.
pub(super) async fn read(admin: &mut Admin) -> Result<BTreeMap<String, LiveVariable>, AdminError> {
    let values = admin.global_variables().await?;
    let is_mariadb = values.get("version").is_some_and(|v| v.contains("MariaDB"));
    let sources: &[&str] = if is_mariadb {
        &["SELECT * FROM information_schema.SYSTEM_VARIABLES"]
    } else {
        // The documentation column is long and of no use here.
        &[
            "SELECT VARIABLE_NAME, MIN_VALUE, MAX_VALUE FROM performance_schema.variables_info",
            "SELECT VARIABLE_NAME, DATA_TYPE, MIN_VALUE, MAX_VALUE FROM performance_schema.variables_metadata",
        ]
    };
    let mut told: BTreeMap<String, Record> = BTreeMap::new();
    for sql in sources {
        match admin.records(sql).await {
            Ok(records) => merge(&mut told, records),
            // An older version has no such table, and an account may have no right to read it: the values alone
            // are still worth having.
            Err(e) if e.kind() == AdminErrorKind::MissingPrivilege || is_absent(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(values
        .into_iter()
        .map(|(name, value)| {
            let variable = live(&name, value, told.get(&name));
            (name, variable)
        })
        .collect())
}

/// ER_NO_SUCH_TABLE, ER_BAD_FIELD_ERROR, ER_UNKNOWN_TABLE.
fn is_absent(error: &AdminError) -> bool {
    matches!(error.server_code(), Some(1146 | 1054 | 1109))
}

fn merge(told: &mut BTreeMap<String, Record>, records: Vec<Record>) {
    for record in records {
        let Some(Some(name)) = record.get("variable_name") else { continue };
        let known = told.entry(name.to_ascii_lowercase()).or_default();
        // Only what says something: an empty range must not hide another table's.
        known.extend(record.into_iter().filter(|(_, v)| v.as_deref().is_some_and(|v| !v.is_empty())));
    }
}

fn live(name: &str, value: String, told: Option<&Record>) -> LiveVariable {
    let text = |columns: &[&str]| {
        let found = columns.iter().find_map(|c| told?.get(*c)?.clone());
        found.filter(|v| !v.is_empty())
    };
    let type_name = text(&["variable_type", "data_type"]).unwrap_or_default();
    let mut min = text(&["numeric_min_value", "min_value"]);
    let mut max = text(&["numeric_max_value", "max_value"]);
    // MySQL reports "no range" as 0..0, and gives one to strings and enumerations too.
    let is_numeric = type_name.is_empty() || is_number(&type_name);
    if !is_numeric || (min.as_deref() == Some("0") && max.as_deref() == Some("0")) {
        (min, max) = (None, None);
    }
    let options = text(&["enum_value_list"]).map(|list| list.split(',').map(str::to_owned).collect());
    LiveVariable {
        name: name.to_owned(),
        value,
        min,
        max,
        options: options.unwrap_or_default(),
        read_only: text(&["read_only"]).map(|v| v.eq_ignore_ascii_case("yes")),
        type_name,
    }
}

/// MariaDB: `INT UNSIGNED`, `BIGINT`, `DOUBLE`; MySQL: `Integer`, `Numeric`.
fn is_number(type_name: &str) -> bool {
    let upper = type_name.to_ascii_uppercase();
    ["INT", "DOUBLE", "NUMERIC"].iter().any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pairs: &[(&str, &str)]) -> Record {
        pairs.iter().map(|(k, v)| (k.to_string(), Some(v.to_string()))).collect()
    }

    #[test]
    fn a_range_of_nothing_is_no_range() {
        let told =
            record(&[("variable_name", "innodb_flush_method"), ("min_value", "0"), ("max_value", "0")]);
        let variable = live("innodb_flush_method", "fsync".into(), Some(&told));
        assert_eq!((variable.min, variable.max), (None, None));
    }

    #[test]
    fn the_later_table_adds_and_does_not_erase() {
        let mut told = BTreeMap::new();
        merge(&mut told, vec![record(&[("variable_name", "A"), ("min_value", "1"), ("max_value", "9")])]);
        merge(
            &mut told,
            vec![record(&[("variable_name", "a"), ("data_type", "Integer"), ("max_value", "")])],
        );
        let variable = live("a", "5".into(), told.get("a"));
        assert_eq!((variable.min.as_deref(), variable.max.as_deref()), (Some("1"), Some("9")));
        assert_eq!(variable.type_name, "Integer");
    }

    #[test]
    fn options_and_read_only_come_from_mariadb() {
        let told = record(&[
            ("variable_type", "ENUM"),
            ("enum_value_list", "fsync,O_DSYNC,O_DIRECT"),
            ("read_only", "YES"),
        ]);
        let variable = live("innodb_flush_method", "fsync".into(), Some(&told));
        assert_eq!(variable.options, ["fsync", "O_DSYNC", "O_DIRECT"]);
        assert_eq!(variable.read_only, Some(true));
    }

    #[test]
    fn without_any_table_the_value_remains() {
        let variable = live("a", "5".into(), None);
        assert_eq!((variable.value.as_str(), variable.read_only, variable.min), ("5", None, None));
    }
}
