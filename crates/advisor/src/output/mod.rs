//! A report, written down: for people, for programs, and as what each platform takes.

mod apply;
mod html;
mod text;

use crate::finding::Report;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a terminal; `verbose` also tells what is fine.
    Text {
        /// Whether fine findings are told too.
        verbose: bool,
    },
    /// One JSON document.
    Json,
    /// One HTML file that needs no network.
    Html,
    /// Statements for a running server, with their way back.
    Sql,
    /// A fragment of an option file.
    Cnf,
    /// Calls of `aws rds modify-db-parameter-group`.
    RdsCli,
    /// A parameter group for Terraform.
    Terraform,
}

impl Format {
    /// Writes the report down.
    pub fn write(self, report: &Report) -> String {
        match self {
            Self::Text { verbose } => text::write(report, verbose),
            Self::Json => {
                let mut json =
                    serde_json::to_string_pretty(report).unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}"));
                json.push('\n');
                json
            }
            Self::Html => html::write(report),
            Self::Sql => apply::sql(report),
            Self::Cnf => apply::cnf(report),
            Self::RdsCli => apply::rds_cli(report),
            Self::Terraform => apply::terraform(report),
        }
    }
}

#[cfg(test)]
mod tests;
