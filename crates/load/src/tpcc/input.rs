//! What a terminal draws: all inputs of a transaction (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1).

use super::schema::{CUSTOMERS, DISTRICTS, ITEMS};
use crate::random::Random;

/// One line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Item; `ITEMS + 1` does not exist.
    pub item: i64,
    /// Warehouse that supplies it.
    pub supply: i64,
    /// How many.
    pub quantity: i64,
}

/// How a customer is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Id(i64),
    /// By the number of the last name, 0..=999.
    Name(i64),
}

/// A New-Order's inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewOrder {
    /// Home warehouse.
    pub warehouse: i64,
    /// District.
    pub district: i64,
    /// Customer.
    pub customer: i64,
    /// Lines; the first `count` are used.
    pub lines: [Line; 15],
    /// 5 to 15.
    pub count: usize,
    /// The last item does not exist: the 1 % that is rolled back.
    pub rollback: bool,
}

impl NewOrder {
    /// The order's lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// Whether all lines come from the home warehouse.
    pub fn all_local(&self) -> bool {
        self.lines().iter().all(|l| l.supply == self.warehouse)
    }
}

/// A Payment's inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payment {
    /// Warehouse that is paid.
    pub warehouse: i64,
    /// Its district.
    pub district: i64,
    /// The customer's warehouse.
    pub customer_warehouse: i64,
    /// The customer's district.
    pub customer_district: i64,
    /// The customer.
    pub who: Who,
    /// 1.00 to 5,000.00, in cents.
    pub cents: i64,
}

/// A transaction with its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one lives in each terminal, overwritten in place: a box would allocate per order"
)]
pub enum Input {
    /// A customer orders.
    NewOrder(NewOrder),
    /// A customer pays.
    Payment(Payment),
    /// A customer asks for its last order.
    OrderStatus {
        /// Warehouse.
        warehouse: i64,
        /// District.
        district: i64,
        /// Customer.
        who: Who,
    },
    /// The oldest new order of all districts is delivered.
    Delivery {
        /// Warehouse.
        warehouse: i64,
        /// 1 to 10.
        carrier: i64,
    },
    /// Items of the last 20 orders below a threshold.
    StockLevel {
        /// Warehouse.
        warehouse: i64,
        /// District.
        district: i64,
        /// 10 to 20.
        threshold: i64,
    },
}

/// Names of the transaction types.
pub const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

impl Input {
    /// Index into [`KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Self::NewOrder(_) => 0,
            Self::Payment(_) => 1,
            Self::OrderStatus { .. } => 2,
            Self::Delivery { .. } => 3,
            Self::StockLevel { .. } => 4,
        }
    }
}

/// How types are drawn.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Independent draws with these weights, in the order of [`KINDS`].
    Weights([f64; 5]),
    /// A shuffled deck of 10, 10, 1, 1, 1 cards (clause 5.2.4.2).
    Deck,
}

impl Default for Mix {
    fn default() -> Self {
        Self::Weights([45.0, 43.0, 4.0, 4.0, 4.0])
    }
}

/// The constants of NURand (clause 2.1.6).
#[derive(Debug, Clone, Copy)]
pub struct Constants {
    /// Last names.
    pub name: i64,
    /// Customer numbers.
    pub customer: i64,
    /// Items.
    pub item: i64,
}

/// Draws a terminal's transactions.
pub struct Draws {
    random: Random,
    constants: Constants,
    warehouses: i64,
    /// The terminal's warehouse; `None`: drawn each time.
    home: Option<i64>,
    /// The terminal's district for Stock-Level.
    district: i64,
    mix: Mix,
    deck: Vec<u8>,
}

impl Draws {
    /// The draws of terminal `index` of `terminals`. With fewer terminals than warehouses a fixed home would
    /// leave most warehouses without one, so then each transaction draws it.
    pub fn new(
        random: Random,
        constants: Constants,
        warehouses: i64,
        index: usize,
        terminals: usize,
        mix: Mix,
    ) -> Self {
        let index = index as i64;
        Self {
            random,
            constants,
            warehouses,
            home: (terminals as i64 >= warehouses).then_some(index % warehouses + 1),
            district: index / warehouses % DISTRICTS + 1,
            mix,
            deck: Vec::new(),
        }
    }

    /// The generator, for waits.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The next transaction.
    pub fn next(&mut self) -> Input {
        let kind = self.kind();
        let warehouse = self.home.unwrap_or_else(|| self.random.range(1, self.warehouses));
        match kind {
            0 => Input::NewOrder(self.new_order(warehouse)),
            1 => Input::Payment(self.payment(warehouse)),
            2 => Input::OrderStatus { warehouse, district: self.random.range(1, DISTRICTS), who: self.who() },
            3 => Input::Delivery { warehouse, carrier: self.random.range(1, 10) },
            _ => {
                Input::StockLevel { warehouse, district: self.district, threshold: self.random.range(10, 20) }
            }
        }
    }

    fn kind(&mut self) -> usize {
        match self.mix {
            Mix::Weights(weights) => {
                let mut left = self.random.unit() * weights.iter().sum::<f64>();
                for (kind, weight) in weights.iter().enumerate() {
                    left -= weight;
                    if left < 0.0 {
                        return kind;
                    }
                }
                // Rounding at the very end of the range: the last type that has any weight.
                weights.iter().rposition(|&w| w > 0.0).unwrap_or(0)
            }
            Mix::Deck => {
                if self.deck.is_empty() {
                    let cards = [[0u8; 10], [1; 10]].into_iter().flatten().chain([2, 3, 4]);
                    self.deck.extend(cards);
                    for i in (1..self.deck.len()).rev() {
                        self.deck.swap(i, self.random.below(i as u64 + 1) as usize);
                    }
                }
                self.deck.pop().map_or(0, usize::from)
            }
        }
    }

    fn customer(&mut self) -> i64 {
        self.random.nurand(1023, self.constants.customer, 1, CUSTOMERS)
    }

    /// 60 % by last name, 40 % by number.
    fn who(&mut self) -> Who {
        if self.random.percent(60) {
            Who::Name(self.random.nurand(255, self.constants.name, 0, 999))
        } else {
            Who::Id(self.customer())
        }
    }

    fn other_warehouse(&mut self, warehouse: i64) -> i64 {
        let other = self.random.range(1, self.warehouses - 1);
        if other >= warehouse { other + 1 } else { other }
    }

    fn new_order(&mut self, warehouse: i64) -> NewOrder {
        let district = self.random.range(1, DISTRICTS);
        let customer = self.customer();
        let count = self.random.range(5, 15) as usize;
        let rollback = self.random.percent(1);
        let mut lines = [Line { item: 0, supply: 0, quantity: 0 }; 15];
        for line in &mut lines[..count] {
            let remote = self.warehouses > 1 && self.random.percent(1);
            *line = Line {
                item: self.random.nurand(8191, self.constants.item, 1, ITEMS),
                supply: if remote { self.other_warehouse(warehouse) } else { warehouse },
                quantity: self.random.range(1, 10),
            };
        }
        // All orders lock stock rows in one global order, so that New-Orders cannot deadlock on them. The item
        // that does not exist stays last (clause 2.4.1.4).
        lines[..count].sort_unstable_by_key(|l| (l.supply, l.item));
        if rollback {
            lines[count - 1].item = ITEMS + 1;
        }
        NewOrder { warehouse, district, customer, lines, count, rollback }
    }

    /// 85 % of the customers are at home, 15 % in another warehouse.
    fn payment(&mut self, warehouse: i64) -> Payment {
        let district = self.random.range(1, DISTRICTS);
        let remote = self.random.percent(15) && self.warehouses > 1;
        let (customer_warehouse, customer_district) = if remote {
            (self.other_warehouse(warehouse), self.random.range(1, DISTRICTS))
        } else {
            (warehouse, district)
        };
        Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            who: self.who(),
            cents: self.random.range(100, 500_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(warehouses: i64, index: usize, terminals: usize, mix: Mix) -> Draws {
        let constants = Constants { name: 10, customer: 20, item: 30 };
        Draws::new(Random::stream(3, index as u64), constants, warehouses, index, terminals, mix)
    }

    #[test]
    fn a_deck_has_its_cards_every_23_draws() {
        let mut d = draws(2, 0, 2, Mix::Deck);
        for _ in 0..20 {
            let mut counts = [0; 5];
            for _ in 0..23 {
                counts[d.next().kind()] += 1;
            }
            assert_eq!(counts, [10, 10, 1, 1, 1]);
        }
    }

    #[test]
    fn fractional_weights_count() {
        let mut d = draws(2, 0, 2, Mix::Weights([99.5, 0.5, 0.0, 0.0, 0.0]));
        let payments = (0..100_000).filter(|_| d.next().kind() == 1).count();
        // 500 expected, standard deviation 22.
        assert!((400..=600).contains(&payments), "{payments}");
    }

    #[test]
    fn with_fewer_terminals_than_warehouses_every_warehouse_is_a_home() {
        let mut d = draws(20, 0, 2, Mix::default());
        let mut seen = [0u32; 21];
        for _ in 0..20_000 {
            if let Input::NewOrder(n) = d.next() {
                seen[n.warehouse as usize] += 1;
            }
        }
        assert!(seen[1..].iter().all(|&n| n > 300), "{seen:?}");
        let mut pinned = draws(2, 5, 20, Mix::default());
        assert!(
            (0..500).all(|_| !matches!(pinned.next(), Input::Delivery { warehouse, .. } if warehouse != 2))
        );
    }

    #[test]
    fn lines_are_sorted_and_the_missing_item_is_last() {
        let mut d = draws(5, 0, 50, Mix::Weights([1.0, 0.0, 0.0, 0.0, 0.0]));
        let mut rollbacks = 0;
        for _ in 0..20_000 {
            let Input::NewOrder(n) = d.next() else { panic!("only New-Orders") };
            let real = &n.lines()[..n.count - usize::from(n.rollback)];
            assert!(real.windows(2).all(|p| (p[0].supply, p[0].item) <= (p[1].supply, p[1].item)));
            assert_eq!(n.lines()[n.count - 1].item == ITEMS + 1, n.rollback);
            rollbacks += u32::from(n.rollback);
        }
        assert!((140..=260).contains(&rollbacks), "{rollbacks}");
    }

    #[test]
    fn one_warehouse_has_nothing_remote() {
        let mut d = draws(1, 0, 4, Mix::default());
        for _ in 0..5000 {
            match d.next() {
                Input::NewOrder(n) => assert!(n.all_local()),
                Input::Payment(p) => assert_eq!(p.customer_warehouse, 1),
                _ => {}
            }
        }
    }
}
