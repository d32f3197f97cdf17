//! One event: the statements, their places and their values, drawn before the first of them is sent.

use super::ids::Ids;
use super::options::{Counts, Kind, Legacy, LegacyMode, NonTrx, ScriptName, SysbenchOptions};
use crate::random::Random;
use crate::session::{Session, Statement, StatementId};
use crate::wire::{Value, WireError};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

pub(super) const BEGIN: StatementId = StatementId(0);
pub(super) const COMMIT: StatementId = StatementId(1);
pub(super) const ROLLBACK: StatementId = StatementId(2);

/// Statements before those of the first table.
const CONTROL: usize = 3;

/// Kinds of statements on a table, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum On {
    Point,
    Simple,
    Sum,
    Order,
    Distinct,
    UpdateIndex,
    UpdateNonIndex,
    Delete,
    Insert,
    /// `oltp_insert`: sent as text.
    InsertText,
    InsertIdText,
    RandomPoints,
    RandomRanges,
    /// 0.4.12's nontrx mode.
    SelectPad,
    InsertRow,
}

/// Number of kinds.
const KINDS: usize = On::InsertRow as usize + 1;

/// All statements: control, then [`KINDS`] for each table.
pub(super) fn statements(options: &SysbenchOptions) -> Arc<[Statement]> {
    let mut list =
        vec![Statement::control("BEGIN"), Statement::control("COMMIT"), Statement::control("ROLLBACK")];
    match options.kind {
        Kind::Legacy(_) => list.extend(legacy_statements()),
        Kind::Script(_) => {
            for table in 1..=options.tables.tables {
                list.extend(table_statements(table, &options.counts));
            }
        }
    }
    list.into()
}

fn table_statements(table: u32, counts: &Counts) -> [Statement; KINDS] {
    let t = format!("sbtest{table}");
    let text = |sql: String| Statement { prepare: false, ..Statement::write(sql) };
    let points = vec!["?"; counts.random_points.max(1) as usize].join(", ");
    let ranges = vec!["k BETWEEN ? AND ?"; counts.number_of_ranges.max(1) as usize].join(" OR ");
    [
        Statement::read(format!("SELECT c FROM {t} WHERE id=?")),
        Statement::read(format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ?")),
        Statement::read(format!("SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?")),
        Statement::read(format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c")),
        Statement::read(format!("SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c")),
        Statement::write(format!("UPDATE {t} SET k=k+1 WHERE id=?")),
        Statement::write(format!("UPDATE {t} SET c=? WHERE id=?")),
        Statement::write(format!("DELETE FROM {t} WHERE id=?")),
        Statement::write(format!("INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)")),
        text(format!("INSERT INTO {t} (k, c, pad) VALUES (?, ?, ?)")),
        text(format!("INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)")),
        Statement::read(format!("SELECT id, k, c, pad FROM {t} WHERE k IN ({points})")),
        Statement::read(format!("SELECT count(k) FROM {t} WHERE {ranges}")),
        Statement::read(format!("SELECT pad FROM {t} WHERE id=?")),
        Statement::write(format!("INSERT INTO {t} (k, c, pad) VALUES (?, ?, ?)")),
    ]
}

/// The texts of 0.4.12, letter by letter.
fn legacy_statements() -> [Statement; KINDS] {
    let pad = "aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy";
    let unused = || Statement::read("SELECT 1");
    [
        Statement::read("SELECT c from sbtest where id=?"),
        Statement::read("SELECT c from sbtest where id between ? and ?"),
        Statement::read("SELECT SUM(K) from sbtest where id between ? and ?"),
        Statement::read("SELECT c from sbtest where id between ? and ? order by c"),
        Statement::read("SELECT DISTINCT c from sbtest where id between ? and ? order by c"),
        Statement::write("UPDATE sbtest set k=k+1 where id=?"),
        Statement::write("UPDATE sbtest set c=? where id=?"),
        Statement::write("DELETE from sbtest where id=?"),
        Statement::write(format!("INSERT INTO sbtest values(?,0,' ','{pad}')")),
        unused(),
        unused(),
        unused(),
        unused(),
        Statement::read("SELECT pad from sbtest where id=?"),
        Statement::write("INSERT INTO sbtest (k, c, pad) values(?, ?, ?)"),
    ]
}

/// One statement of an event: its place in the list, two numbers, and where its texts lie.
#[derive(Debug, Clone, Copy)]
struct Step {
    statement: StatementId,
    on: On,
    numbers: (i64, i64),
    /// c and pad in the event's text; empty ranges where there are none.
    c: (u32, u32),
    pad: (u32, u32),
    pause: Duration,
}

/// Draws events and executes them. All buffers are reused.
pub(super) struct Events {
    kind: Kind,
    counts: Counts,
    tables: i64,
    auto_inc: bool,
    ids: Ids,
    size: i64,
    random: Random,
    steps: Vec<Step>,
    text: Vec<u8>,
    /// Values of `select_random_*`.
    many: Vec<i64>,
    unique: Arc<AtomicI64>,
}

impl Events {
    pub fn new(options: &SysbenchOptions, random: Random, unique: Arc<AtomicI64>) -> Self {
        Self {
            kind: options.kind,
            counts: options.counts,
            tables: i64::from(options.tables.tables.max(1)),
            auto_inc: options.tables.auto_inc,
            ids: Ids::new(options.distribution, options.tables.table_size),
            size: options.tables.table_size as i64,
            random,
            steps: Vec::with_capacity(20),
            text: Vec::with_capacity(400),
            many: Vec::new(),
            unique,
        }
    }

    /// Whether an event has BEGIN and COMMIT.
    pub fn transactional(&self) -> bool {
        let many = match self.kind {
            Kind::Script(script) => script.transactional(),
            Kind::Legacy(legacy) => legacy.mode == LegacyMode::Complex,
        };
        many && !self.counts.skip_trx
    }

    /// Draws the next event.
    pub fn draw(&mut self) {
        self.steps.clear();
        self.text.clear();
        match self.kind {
            Kind::Script(script) => self.draw_script(script),
            Kind::Legacy(legacy) => self.draw_legacy(legacy),
        }
    }

    fn id(&mut self) -> i64 {
        self.ids.draw(&mut self.random)
    }

    fn table(&mut self) -> usize {
        if self.tables == 1 { 0 } else { self.random.below(self.tables as u64) as usize }
    }

    fn push(&mut self, table: usize, on: On, numbers: (i64, i64)) -> &mut Step {
        let statement = StatementId(CONTROL + table * KINDS + on as usize);
        let step = Step { statement, on, numbers, c: (0, 0), pad: (0, 0), pause: Duration::ZERO };
        self.steps.push(step);
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    /// `groups` groups of eleven digits joined by dashes, as `###########-…`.
    fn groups(&mut self, groups: usize) -> (u32, u32) {
        let from = self.text.len() as u32;
        for group in 0..groups {
            if group > 0 {
                self.text.push(b'-');
            }
            self.random.digits(11, &mut self.text);
        }
        (from, self.text.len() as u32)
    }

    fn draw_script(&mut self, script: ScriptName) {
        use ScriptName::*;
        match script {
            OltpReadWrite => {
                self.selects();
                self.changes();
            }
            OltpReadOnly => self.selects(),
            OltpWriteOnly => self.changes(),
            OltpPointSelect => {
                let (table, id) = (self.table(), self.id());
                self.push(table, On::Point, (id, 0));
            }
            OltpUpdateIndex => self.index_updates(),
            OltpUpdateNonIndex => self.non_index_updates(),
            OltpDelete => {
                let (table, id) = (self.table(), self.id());
                self.push(table, On::Delete, (id, 0));
            }
            OltpInsert => {
                let (table, k) = (self.table(), self.id());
                let (c, pad) = (self.groups(10), self.groups(5));
                let (on, id) = if self.auto_inc {
                    (On::InsertText, 0)
                } else {
                    (On::InsertIdText, self.unique.fetch_add(1, Relaxed))
                };
                let step = self.push(table, on, (id, k));
                (step.c, step.pad) = (c, pad);
            }
            SelectRandomPoints => {
                self.many.clear();
                for _ in 0..self.counts.random_points.max(1) {
                    let id = self.id();
                    self.many.push(id);
                }
                self.push(0, On::RandomPoints, (0, 0));
            }
            SelectRandomRanges => {
                self.many.clear();
                let delta = i64::from(self.counts.delta);
                for _ in 0..self.counts.number_of_ranges.max(1) {
                    let from = self.id().min((self.size - delta).max(1));
                    self.many.extend([from, from + delta]);
                }
                self.push(0, On::RandomRanges, (0, 0));
            }
        }
    }

    fn selects(&mut self) {
        let c = self.counts;
        let table = self.table();
        for _ in 0..c.point_selects {
            let id = self.id();
            self.push(table, On::Point, (id, 0));
        }
        if !c.range_selects {
            return;
        }
        let last = c.range_size.max(1) as i64 - 1;
        for (n, on) in [
            (c.simple_ranges, On::Simple),
            (c.sum_ranges, On::Sum),
            (c.order_ranges, On::Order),
            (c.distinct_ranges, On::Distinct),
        ] {
            let table = self.table();
            for _ in 0..n {
                let id = self.id();
                self.push(table, on, (id, id + last));
            }
        }
    }

    fn changes(&mut self) {
        self.index_updates();
        self.non_index_updates();
        let table = self.table();
        for _ in 0..self.counts.delete_inserts {
            let (id, k) = (self.id(), self.id());
            let (c, pad) = (self.groups(10), self.groups(5));
            self.push(table, On::Delete, (id, 0));
            let step = self.push(table, On::Insert, (id, k));
            (step.c, step.pad) = (c, pad);
        }
    }

    fn index_updates(&mut self) {
        let table = self.table();
        for _ in 0..self.counts.index_updates {
            let id = self.id();
            self.push(table, On::UpdateIndex, (id, 0));
        }
    }

    fn non_index_updates(&mut self) {
        let table = self.table();
        for _ in 0..self.counts.non_index_updates {
            let (id, c) = (self.id(), self.groups(10));
            self.push(table, On::UpdateNonIndex, (id, 0)).c = c;
        }
    }

    /// 0.4.12's ten numbers joined by dashes.
    fn legacy_string(&mut self) -> (u32, u32) {
        let from = self.text.len() as u32;
        for group in 0..10 {
            if group > 0 {
                self.text.push(b'-');
            }
            let number = self.random.below(1 << 30).to_string();
            self.text.extend_from_slice(number.as_bytes());
        }
        (from, self.text.len() as u32)
    }

    /// A range's first id: clamped so that the range fits, which 1.0 no longer does.
    fn legacy_range(&mut self) -> i64 {
        let id = self.id();
        id.min(self.size - self.counts.range_size as i64).max(1)
    }

    fn draw_legacy(&mut self, legacy: Legacy) {
        match legacy.mode {
            LegacyMode::Simple => {
                let id = self.id();
                self.push(0, On::Point, (id, 0));
            }
            LegacyMode::Complex => self.legacy_transaction(legacy),
            LegacyMode::NonTrx(mode) => {
                let id = self.id();
                match mode {
                    NonTrx::Select => drop(self.push(0, On::SelectPad, (id, 0))),
                    NonTrx::UpdateKey => drop(self.push(0, On::UpdateIndex, (id, 0))),
                    NonTrx::UpdateNokey => {
                        let c = self.legacy_string();
                        self.push(0, On::UpdateNonIndex, (id, 0)).c = c;
                    }
                    NonTrx::Insert => {
                        let (c, pad) = (self.legacy_string(), self.groups(4));
                        let step = self.push(0, On::InsertRow, (0, id));
                        (step.c, step.pad) = (c, pad);
                    }
                    NonTrx::Delete => {
                        let id = self.unique.fetch_add(1, Relaxed);
                        self.push(0, On::Delete, (id, 0));
                    }
                }
            }
        }
        let (low, high) = legacy.user_delay_us;
        if high > 0 {
            for i in 0..self.steps.len() {
                let us = self.random.range(low as i64, high.max(low) as i64);
                self.steps[i].pause = Duration::from_micros(us as u64);
            }
        }
    }

    fn legacy_transaction(&mut self, legacy: Legacy) {
        let c = self.counts;
        for _ in 0..c.point_selects {
            let id = self.id();
            self.push(0, On::Point, (id, 0));
        }
        let size = c.range_size as i64;
        for (n, on, last) in [
            (c.simple_ranges, On::Simple, size - 1),
            (c.sum_ranges, On::Sum, size - 1),
            (c.order_ranges, On::Order, size - 1),
            // 101 rows: 0.4.12 forgets the "- 1" here.
            (c.distinct_ranges, On::Distinct, size),
        ] {
            for _ in 0..n {
                let from = self.legacy_range();
                self.push(0, on, (from, from + last));
            }
        }
        if legacy.read_only {
            return;
        }
        for _ in 0..c.index_updates {
            let id = self.id();
            self.push(0, On::UpdateIndex, (id, 0));
        }
        for _ in 0..c.non_index_updates {
            let (id, text) = (self.id(), self.legacy_string());
            self.push(0, On::UpdateNonIndex, (id, 0)).c = text;
        }
        let id = self.id();
        if legacy.extra_update {
            self.push(0, On::UpdateIndex, (id, 0));
        }
        self.push(0, On::Delete, (id, 0));
        self.push(0, On::Insert, (id, 0));
    }

    /// Executes the drawn event.
    pub async fn execute<S: Session>(&self, session: &mut S) -> Result<(), WireError> {
        let transactional = self.transactional();
        if transactional {
            session.execute(BEGIN, &[]).await?;
        }
        for step in &self.steps {
            if !step.pause.is_zero() {
                session.pause(step.pause).await;
            }
            self.step(session, step).await?;
        }
        if transactional {
            session.execute(COMMIT, &[]).await?;
        }
        Ok(())
    }

    fn slice(&self, (from, to): (u32, u32)) -> Value<'_> {
        // Only digits and dashes are ever written there.
        Value::Text(std::str::from_utf8(&self.text[from as usize..to as usize]).unwrap_or_default())
    }

    async fn step<S: Session>(&self, session: &mut S, step: &Step) -> Result<(), WireError> {
        let (a, b) = (Value::Int(step.numbers.0), Value::Int(step.numbers.1));
        let (c, pad) = (self.slice(step.c), self.slice(step.pad));
        let id = step.statement;
        match step.on {
            On::Point | On::UpdateIndex | On::Delete | On::SelectPad => session.execute(id, &[a]).await?,
            On::Simple | On::Sum | On::Order | On::Distinct => session.execute(id, &[a, b]).await?,
            On::UpdateNonIndex => session.execute(id, &[c, a]).await?,
            On::Insert if matches!(self.kind, Kind::Legacy(_)) => session.execute(id, &[a]).await?,
            On::Insert | On::InsertIdText => session.execute(id, &[a, b, c, pad]).await?,
            On::InsertText | On::InsertRow => session.execute(id, &[b, c, pad]).await?,
            On::RandomPoints | On::RandomRanges => {
                let values: Vec<Value<'_>> = self.many.iter().map(|&v| Value::Int(v)).collect();
                session.execute(id, &values).await?
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::block_on;
    use crate::session::{Class, NullSession};
    use crate::wire::Reply;

    /// Remembers what would have been sent.
    struct Recorder {
        statements: Arc<[Statement]>,
        sent: Vec<(StatementId, String)>,
    }

    impl Session for Recorder {
        async fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Result<Reply<'_>, WireError> {
            self.sent.push((id, format!("{} {values:?}", self.statements[id.0].sql)));
            Ok(Reply::done(1))
        }

        async fn pause(&mut self, _: Duration) {}
    }

    fn run(options: &SysbenchOptions, events: usize, seed: u64) -> Recorder {
        let mut recorder = Recorder { statements: statements(options), sent: Vec::new() };
        let mut script = Events::new(options, Random::stream(seed, 0), Arc::default());
        for _ in 0..events {
            script.draw();
            block_on(script.execute(&mut recorder)).unwrap();
        }
        recorder
    }

    fn counts(options: &SysbenchOptions) -> [usize; 3] {
        let recorder = run(options, 1, 1);
        let mut counts = [0; 3];
        for (id, _) in &recorder.sent {
            counts[recorder.statements[id.0].class as usize] += 1;
        }
        counts
    }

    #[test]
    fn each_script_has_sysbench_s_counts() {
        for (script, expected) in [
            (ScriptName::OltpReadWrite, [14, 4, 2]),
            (ScriptName::OltpReadOnly, [14, 0, 2]),
            (ScriptName::OltpWriteOnly, [0, 4, 2]),
            (ScriptName::OltpPointSelect, [1, 0, 0]),
            (ScriptName::OltpUpdateIndex, [0, 1, 0]),
            (ScriptName::OltpUpdateNonIndex, [0, 1, 0]),
            (ScriptName::OltpInsert, [0, 1, 0]),
            (ScriptName::OltpDelete, [0, 1, 0]),
            (ScriptName::SelectRandomPoints, [1, 0, 0]),
            (ScriptName::SelectRandomRanges, [1, 0, 0]),
        ] {
            assert_eq!(counts(&SysbenchOptions::new(Kind::Script(script))), expected, "{script}");
        }
    }

    #[test]
    fn the_2013_complex_mode_has_21_statements() {
        let legacy = |change: fn(&mut Legacy)| {
            let mut legacy = Legacy::default();
            change(&mut legacy);
            SysbenchOptions::new(Kind::Legacy(legacy))
        };
        assert_eq!(counts(&legacy(|_| {})), [14, 5, 2]);
        assert_eq!(counts(&legacy(|l| l.extra_update = false)), [14, 4, 2]);
        assert_eq!(counts(&legacy(|l| l.read_only = true)), [14, 0, 2]);
        assert_eq!(counts(&legacy(|l| l.mode = LegacyMode::Simple)), [1, 0, 0]);
        let mut skip = legacy(|_| {});
        skip.counts.skip_trx = true;
        assert_eq!(counts(&skip), [14, 5, 0]);
    }

    #[test]
    fn the_complex_transaction_to_the_statement() {
        let recorder = run(&SysbenchOptions::new(Kind::Legacy(Legacy::default())), 1, 4);
        let texts: Vec<&str> =
            recorder.sent.iter().map(|(id, _)| recorder.statements[id.0].sql.as_str()).collect();
        assert_eq!(texts[0], "BEGIN");
        assert_eq!(texts[1..11], ["SELECT c from sbtest where id=?"; 10]);
        assert_eq!(
            texts[11..],
            [
                "SELECT c from sbtest where id between ? and ?",
                "SELECT SUM(K) from sbtest where id between ? and ?",
                "SELECT c from sbtest where id between ? and ? order by c",
                "SELECT DISTINCT c from sbtest where id between ? and ? order by c",
                "UPDATE sbtest set k=k+1 where id=?",
                "UPDATE sbtest set c=? where id=?",
                "UPDATE sbtest set k=k+1 where id=?",
                "DELETE from sbtest where id=?",
                "INSERT INTO sbtest values(?,0,' ','aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy')",
                "COMMIT",
            ]
        );
        let values = |i: usize| recorder.sent[i].1.rsplit_once("[").unwrap().1.to_owned();
        assert_eq!(values(17), values(18), "the extra UPDATE hits the row that is deleted next");
        assert_eq!(values(18), values(19), "and inserted again");
    }

    #[test]
    fn ranges_have_100_rows_and_the_legacy_distinct_range_101() {
        let spans = |kind| -> Vec<i64> {
            let options = SysbenchOptions::new(kind);
            let mut events = Events::new(&options, Random::stream(1, 0), Arc::default());
            events.draw();
            let ranges = [On::Simple, On::Sum, On::Order, On::Distinct];
            events
                .steps
                .iter()
                .filter(|s| ranges.contains(&s.on))
                .map(|s| s.numbers.1 - s.numbers.0 + 1)
                .collect()
        };
        assert_eq!(spans(Kind::Script(ScriptName::OltpReadWrite)), [100, 100, 100, 100]);
        assert_eq!(spans(Kind::Legacy(Legacy::default())), [100, 100, 100, 101]);
    }

    #[test]
    fn the_same_seed_sends_the_same_bytes() {
        let options = SysbenchOptions::new(Kind::Script(ScriptName::OltpReadWrite));
        let text = |seed| run(&options, 50, seed).sent;
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }

    #[test]
    fn strings_have_sysbench_s_shape() {
        let recorder = run(&SysbenchOptions::new(Kind::Script(ScriptName::OltpInsert)), 1, 1);
        let text = &recorder.sent[0].1;
        let strings: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
        assert_eq!(strings.iter().map(|s| s.len()).collect::<Vec<_>>(), [119, 59]);
        assert!(strings.iter().all(|s| s.bytes().all(|b| b.is_ascii_digit() || b == b'-')));
        assert_eq!(recorder.statements[recorder.sent[0].0.0].class, Class::Write);
    }

    #[test]
    #[ignore = "a measurement: scripts/bench-load prints it"]
    fn generator() {
        for script in [ScriptName::OltpPointSelect, ScriptName::OltpReadWrite] {
            let options = SysbenchOptions::new(Kind::Script(script));
            let mut events = Events::new(&options, Random::stream(1, 0), Arc::default());
            let begun = std::time::Instant::now();
            let n = 1_000_000;
            for _ in 0..n {
                events.draw();
                block_on(events.execute(&mut NullSession)).unwrap();
            }
            println!("{script}: {:.0} ns/event", begun.elapsed().as_nanos() as f64 / f64::from(n));
        }
    }
}
