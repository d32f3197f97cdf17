//! Renders invented studies into a folder, to look at: `cargo run -p tunesmith-report --example sample -- FOLDER`.

#[path = "../tests/report/sample.rs"]
mod sample;

use std::path::PathBuf;
use tunesmith_report::render;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "target/sample-reports".into()));
    std::fs::create_dir_all(&folder)?;
    for (name, study) in sample::all() {
        std::fs::write(folder.join(format!("{name}.html")), render::html(&study))?;
        std::fs::write(folder.join(format!("{name}.md")), render::markdown(&study))?;
        std::fs::write(folder.join(format!("{name}.csv")), render::csv(&study))?;
        std::fs::write(folder.join(format!("{name}.json")), render::json(&study))?;
        println!("== {name}\n{}", render::terminal(&study, 110, false));
    }
    println!("written to {}", folder.display());
    Ok(())
}
