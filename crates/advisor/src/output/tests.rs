use super::*;
use crate::rules::tests_support::Fixture;

fn report() -> Report {
    Fixture::mysql("9.7.4")
        .memory_gib(16)
        .solid_state(true)
        .var("innodb_buffer_pool_size", "134217728")
        .var("innodb_flush_neighbors", "1")
        .var("innodb_io_capacity", "200")
        .var("innodb_io_capacity_max", "400")
        .var("innodb_buffer_pool_instances", "1")
        .var("innodb_flush_log_at_trx_commit", "2")
        .var("thread_cache_size", "9")
        .innodb_gib(8)
        .report()
}

#[test]
fn the_worst_comes_first_and_what_is_fine_only_when_asked() {
    let text = Format::Text { verbose: false }.write(&report());
    assert!(!text.contains("[fine]"), "{text}");
    let warning = text.find("[warning]").unwrap();
    let notice = text.find("[notice]").unwrap();
    assert!(warning < notice, "{text}");
    assert!(Format::Text { verbose: true }.write(&report()).contains("[fine]"));
}

#[test]
fn json_keeps_its_promise() {
    let json: serde_json::Value = serde_json::from_str(&Format::Json.write(&report())).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["identity"]["flavour"], "mysql");
    let finding = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["recommendation"]["knob"] == "innodb_buffer_pool_size")
        .unwrap();
    for field in ["rule", "severity", "evidence"] {
        assert!(finding[field].is_string(), "{field}");
    }
    let recommendation = &finding["recommendation"];
    assert!(recommendation["current"].is_u64() && recommendation["value"].is_u64());
    assert_eq!(recommendation["risk"], "memory");
    assert_eq!(recommendation["restart"], false);
}

#[test]
fn statements_come_with_their_way_back_and_never_touch_durability() {
    let sql = Format::Sql.write(&report());
    assert!(sql.contains("SET PERSIST innodb_buffer_pool_size = "), "{sql}");
    assert!(sql.contains("-- SET PERSIST innodb_buffer_pool_size = 134217728;"), "{sql}");
    let applied: Vec<&str> = sql.lines().filter(|line| line.starts_with("SET")).collect();
    assert!(!applied.iter().any(|line| line.contains("trx_commit")), "{sql}");
    assert!(sql.contains("--   innodb_flush_log_at_trx_commit = 1"), "{sql}");
    // The larger of the pair first: the server would clamp the other.
    assert!(sql.find("innodb_io_capacity_max").unwrap() < sql.find("innodb_io_capacity =").unwrap(), "{sql}");
}

#[test]
fn an_option_file_holds_plain_numbers() {
    let cnf = Format::Cnf.write(&report());
    let line = cnf.lines().find(|line| line.starts_with("innodb_io_capacity = ")).unwrap();
    assert_eq!(line, "innodb_io_capacity = 2000");
    assert!(cnf.contains("[mysqld]\n"));
}

#[test]
fn a_call_to_rds_never_has_more_than_twenty_parameters() {
    let mut many = report();
    let template = many.findings.iter().find(|f| f.recommendation.is_some()).unwrap().clone();
    many.findings = (0..45)
        .map(|i| {
            let mut finding = template.clone();
            let recommendation = finding.recommendation.as_mut().unwrap();
            recommendation.knob = format!("knob_{i}");
            recommendation.restart = i % 2 == 0;
            finding
        })
        .collect();
    let text = Format::RdsCli.write(&many);
    let calls: Vec<&str> = text.split("aws rds").skip(1).collect();
    let sizes: Vec<usize> = calls.iter().map(|call| call.matches("ParameterName=").count()).collect();
    assert_eq!(sizes, [20, 20, 5]);
    assert!(text.contains("knob_0,ParameterValue") && text.contains("ApplyMethod=pending-reboot"));
}

#[test]
fn terraform_names_the_family() {
    let text = Format::Terraform.write(&report());
    assert!(text.contains("family      = \"mysql9.7\""), "{text}");
    assert!(text.contains("name         = \"innodb_buffer_pool_size\""), "{text}");
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn html_stands_alone_and_lets_nothing_through() {
    let mut bad = report();
    bad.findings[0].evidence = "<script>alert('x')</script>".into();
    let html = Format::Html.write(&bad);
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("src="));
}
