//! The audit: are the transactions what the clauses want them to be?
//!
//! The bands are those of CockroachDB's audit (which quotes clause 9.2.2.5 and its neighbours). They hold for the
//! true shares; a run sees a sample, so each is widened by 3.3 standard errors (one false alarm in a thousand).

use super::input::{Input, KINDS, Who};
use crate::engine::{Ending, Tally};
use serde::Serialize;

/// Transactions from which an audit says something.
const ENOUGH: u64 = 10_000;
/// Standard errors by which a band is widened: two-sided 0.1 %.
const SIGMAS: f64 = 3.3;

/// What is counted of the measured transactions.
#[derive(Debug, Clone, Default)]
pub struct AuditTally {
    kinds: [u64; 5],
    rolled_back: u64,
    /// New-Orders by their number of lines.
    lines: [u64; 16],
    line_count: u64,
    remote_lines: u64,
    remote_payments: u64,
    payments_by_name: u64,
    status_by_name: u64,
    delivered: u64,
    skipped: u64,
    /// New-Orders by home warehouse.
    homes: Vec<u64>,
}

impl Tally for AuditTally {
    fn add(&mut self, other: &Self) {
        for (a, b) in self.kinds.iter_mut().zip(other.kinds) {
            *a += b;
        }
        for (a, b) in self.lines.iter_mut().zip(other.lines) {
            *a += b;
        }
        self.rolled_back += other.rolled_back;
        self.line_count += other.line_count;
        self.remote_lines += other.remote_lines;
        self.remote_payments += other.remote_payments;
        self.payments_by_name += other.payments_by_name;
        self.status_by_name += other.status_by_name;
        self.delivered += other.delivered;
        self.skipped += other.skipped;
        if self.homes.len() < other.homes.len() {
            self.homes.resize(other.homes.len(), 0);
        }
        for (a, b) in self.homes.iter_mut().zip(&other.homes) {
            *a += b;
        }
    }
}

impl AuditTally {
    /// Counts a transaction that ended well; `skipped` districts of a Delivery had no order.
    pub fn count(&mut self, input: &Input, ending: Ending, skipped: u32) {
        self.kinds[input.kind()] += 1;
        match input {
            Input::NewOrder(n) => {
                self.rolled_back += u64::from(ending == Ending::RolledBack);
                self.lines[n.count] += 1;
                self.line_count += n.count as u64;
                self.remote_lines += n.lines().iter().filter(|l| l.supply != n.warehouse).count() as u64;
                let home = n.warehouse as usize;
                if self.homes.len() <= home {
                    self.homes.resize(home + 1, 0);
                }
                self.homes[home] += 1;
            }
            Input::Payment(p) => {
                self.remote_payments += u64::from(p.customer_warehouse != p.warehouse);
                self.payments_by_name += u64::from(matches!(p.who, Who::Name(_)));
            }
            Input::OrderStatus { who, .. } => self.status_by_name += u64::from(matches!(who, Who::Name(_))),
            Input::Delivery { .. } => {
                self.skipped += u64::from(skipped);
                self.delivered += u64::from(10 - skipped.min(10));
            }
            Input::StockLevel { .. } => {}
        }
    }

    /// The audit. `standard_mix`: the run's weights are those of the clause.
    pub fn audit(&self, warehouses: u32, standard_mix: bool) -> Audit {
        let total: u64 = self.kinds.iter().sum();
        let mut rows = Vec::new();
        let mut share = |name: &str, part: u64, of: u64, low: f64, high: f64| {
            let share = if of == 0 { 0.0 } else { part as f64 / of as f64 };
            let error = |p: f64| SIGMAS * (p * (1.0 - p) / of.max(1) as f64).sqrt() * 100.0;
            let value = share * 100.0;
            let ok = value >= low - error(low / 100.0) && value <= high + error(high / 100.0);
            rows.push(AuditRow { name: name.to_owned(), value, low, high, ok });
        };
        if standard_mix {
            for (kind, low) in [(1, 43.0), (2, 4.0), (3, 4.0), (4, 4.0)] {
                share(&format!("{} %", KINDS[kind]), self.kinds[kind], total, low, 100.0);
            }
            share("new_order %", self.kinds[0], total, 0.0, 45.0);
        }
        let [new_orders, payments, statuses, ..] = self.kinds;
        share("rolled back %", self.rolled_back, new_orders, 0.9, 1.1);
        for (n, &count) in self.lines.iter().enumerate().skip(5) {
            share(
                &format!("orders of {n} lines %"),
                count,
                new_orders,
                100.0 / 11.0 - 1.0,
                100.0 / 11.0 + 1.0,
            );
        }
        if warehouses > 1 {
            share("remote lines %", self.remote_lines, self.line_count, 0.95, 1.05);
            share("remote payments %", self.remote_payments, payments, 14.0, 16.0);
        }
        share("payments by name %", self.payments_by_name, payments, 57.0, 63.0);
        share("order status by name %", self.status_by_name, statuses, 57.0, 63.0);
        share("skipped deliveries %", self.skipped, self.delivered + self.skipped, 0.0, 1.0);
        // The mean of 5..=15 has the standard deviation sqrt(10).
        let mean = if new_orders == 0 { 0.0 } else { self.line_count as f64 / new_orders as f64 };
        let error = SIGMAS * (10.0 / new_orders.max(1) as f64).sqrt();
        rows.push(AuditRow {
            name: "mean lines".into(),
            value: mean,
            low: 9.5,
            high: 10.5,
            ok: (9.5 - error..=10.5 + error).contains(&mean),
        });
        let homes = self.homes.iter().filter(|&&n| n > 0).count() as u32;
        // With 20 orders for each warehouse, one without any has probability e^-20.
        if new_orders >= 20 * u64::from(warehouses) {
            rows.push(AuditRow {
                name: "home warehouses".into(),
                value: f64::from(homes),
                low: f64::from(warehouses),
                high: f64::from(warehouses),
                ok: homes == warehouses,
            });
        }
        let enough = total >= ENOUGH;
        Audit { transactions: total, enough, ok: enough && rows.iter().all(|r| r.ok), rows }
    }
}

/// Shares of the measured transactions against the clauses' bands.
#[derive(Debug, Clone, Serialize)]
pub struct Audit {
    /// Transactions audited.
    pub transactions: u64,
    /// Whether these are 10,000 or more; fewer prove nothing.
    pub enough: bool,
    /// Enough, and every row is in its band.
    pub ok: bool,
    /// One row for each rule.
    pub rows: Vec<AuditRow>,
}

/// One rule of the audit.
#[derive(Debug, Clone, Serialize)]
pub struct AuditRow {
    /// What was counted.
    pub name: String,
    /// What was found.
    pub value: f64,
    /// The band's lower end.
    pub low: f64,
    /// The band's upper end.
    pub high: f64,
    /// Whether the value lies in the band, sampling error allowed.
    pub ok: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::tpcc::input::{Constants, Draws, Mix};

    fn tally(mix: Mix, warehouses: i64, n: usize, mut change: impl FnMut(&mut Input)) -> AuditTally {
        let constants = Constants { name: 1, customer: 2, item: 3 };
        let mut draws = Draws::new(Random::stream(11, 0), constants, warehouses, 0, 1, mix);
        let mut tally = AuditTally::default();
        for _ in 0..n {
            let mut input = draws.next();
            change(&mut input);
            let rolled_back = matches!(input, Input::NewOrder(n) if n.rollback);
            tally.count(&input, if rolled_back { Ending::RolledBack } else { Ending::Committed }, 0);
        }
        tally
    }

    #[test]
    fn our_own_draws_pass() {
        let audit = tally(Mix::default(), 4, 50_000, |_| {}).audit(4, true);
        assert!(audit.ok, "{:#?}", audit.rows.iter().filter(|r| !r.ok).collect::<Vec<_>>());
    }

    #[test]
    fn defects_of_other_tools_are_found() {
        let failing = |tally: AuditTally| -> Vec<String> {
            tally.audit(4, true).rows.into_iter().filter(|r| !r.ok).map(|r| r.name).collect()
        };
        let never_remote = tally(Mix::default(), 4, 50_000, |input| {
            if let Input::NewOrder(n) = input {
                n.lines.iter_mut().for_each(|l| l.supply = n.warehouse);
            }
        });
        assert_eq!(failing(never_remote), ["remote lines %"]);
        let never_rolled_back = tally(Mix::default(), 4, 50_000, |input| {
            if let Input::NewOrder(n) = input {
                n.rollback = false;
            }
        });
        assert_eq!(failing(never_rolled_back), ["rolled back %"]);
        let one_home = tally(Mix::default(), 4, 50_000, |input| {
            if let Input::NewOrder(n) = input {
                n.warehouse = 1;
            }
        });
        assert!(failing(one_home).contains(&"home warehouses".to_owned()));
    }

    #[test]
    fn a_small_sample_proves_nothing() {
        let audit = tally(Mix::default(), 4, 5000, |_| {}).audit(4, true);
        assert!(!audit.enough && !audit.ok);
    }
}
