//! What a study looks like while it runs: a bar with ETA on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;
use tuner::{Ending, Event, Events, Objective};

/// Shows the events of a study on standard error.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    verbose: bool,
    objective: Objective,
    /// The last thing said about a preparation, so that plain output does not repeat itself.
    last_preparation: String,
    state: &'static str,
    speed: Option<u64>,
    incumbent: Option<f64>,
    current: String,
}

impl Progress {
    /// A display for a study with this objective.
    pub fn new(objective: Objective, quiet: bool, verbose: bool) -> Self {
        let bar = (std::io::stderr().is_terminal() && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(250));
            bar.set_style(style("{spinner} {msg}"));
            bar
        });
        Self {
            bar,
            quiet,
            verbose,
            objective,
            last_preparation: String::new(),
            state: "",
            speed: None,
            incumbent: None,
            current: String::new(),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        if self.quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.println(text),
            // Nobody may read any more; the study goes on all the same.
            None => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
    }

    fn refresh(&self) {
        let Some(bar) = &self.bar else { return };
        let mut message = format!("{} · {}", self.current, self.state);
        if let Some(speed) = self.speed {
            message += &format!(" · {speed} txn/s");
        }
        if let Some(incumbent) = self.incumbent {
            message += &format!(" · best {}", percent(incumbent));
        }
        bar.set_message(message);
    }
}

impl Events for Progress {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Preparing { what, share } => match &self.bar {
                Some(bar) => bar.set_message(match share {
                    Some(share) => format!("{what} {:.0} %", share * 100.0),
                    None => (*what).to_owned(),
                }),
                None if self.last_preparation != *what => {
                    self.line(what);
                    self.last_preparation = (*what).to_owned();
                }
                None => {}
            },
            Event::Began { trial, origin, done, of } => {
                if let Some(bar) = &self.bar {
                    if bar.length() == Some(0) {
                        bar.set_style(style("{bar:24} {pos}/{len} · ETA {eta} · {msg}"));
                        bar.reset_eta();
                    }
                    bar.set_length(u64::from(*of));
                    bar.set_position(u64::from(*done));
                }
                self.current = format!("trial {trial} ({origin})");
                self.speed = None;
                self.refresh();
            }
            Event::Entered { trial, state } => {
                self.state = state.as_str();
                if self.verbose && self.bar.is_none() {
                    self.line(&format!("  trial {trial}: {state}"));
                }
                self.refresh();
            }
            Event::Second { commits } => {
                self.speed = Some(*commits);
                self.refresh();
            }
            Event::Ended { trial, origin, ending, done, of, incumbent } => {
                self.incumbent = *incumbent;
                let what = match ending {
                    Ending::Kept(value) => format!("{value:>9.1} {}", self.objective.unit()),
                    Ending::Reverted(why) => format!("reverted: {}", first_line(why)),
                    Ending::Failed(why) => format!("failed: {}", first_line(why)),
                };
                let best = incumbent.map(|i| format!("   best so far {}", percent(i))).unwrap_or_default();
                self.line(&format!("[{done:>2}/{of}] trial {trial:>2}  {origin:<24} {what}{best}"));
                if let Some(bar) = &self.bar {
                    bar.set_length(u64::from(*of));
                    bar.set_position(u64::from(*done));
                }
            }
            Event::Note(text) => self.line(text),
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn percent(factor: f64) -> String {
    format!("{:+.1} %", (factor - 1.0) * 100.0)
}

fn first_line(text: &str) -> &str {
    text.lines().find(|l| !l.trim().is_empty()).unwrap_or(text)
}
