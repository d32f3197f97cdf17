//! Tables, indexes and foreign keys.

use serde::{Deserialize, Serialize};

/// Districts of a warehouse (clause 1.2.1).
pub const DISTRICTS: i64 = 10;
/// Customers of a district; also orders of a district after the load.
pub const CUSTOMERS: i64 = 3000;
/// Items; also stock rows of a warehouse.
pub const ITEMS: i64 = 100_000;
/// The first order that is not delivered after the load.
pub const FIRST_NEW_ORDER: i64 = 2101;

/// Whose tables these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Ours: decimal money, `orders` and `new_orders`.
    #[default]
    Standard,
    /// BenchBase's names and types, so that its data sets and figures compare.
    BenchBase,
}

/// A TPC-C data set, identified by these parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSet {
    /// Scale: about 100 MB for each.
    pub warehouses: u32,
    /// Seed of the data.
    pub seed: u64,
    /// Table layout.
    pub layout: Layout,
    /// Whether the foreign keys are declared.
    pub foreign_keys: bool,
    /// Whether `history` has a primary key (a cluster or `sql_require_primary_key` needs one).
    pub history_key: bool,
}

impl DataSet {
    /// The usual data set: our layout, no foreign keys, `history` with a key.
    pub fn new(warehouses: u32, seed: u64) -> Self {
        Self { warehouses, seed, layout: Layout::Standard, foreign_keys: false, history_key: true }
    }

    /// BenchBase's: its names and types, foreign keys, no key in `history`.
    pub fn benchbase(warehouses: u32, seed: u64) -> Self {
        Self { warehouses, seed, layout: Layout::BenchBase, foreign_keys: true, history_key: false }
    }

    /// The constant C of NURand for customer names in the load (clause 2.1.6).
    pub(crate) fn c_load(&self) -> i64 {
        match self.layout {
            Layout::BenchBase => 157,
            Layout::Standard => crate::random::Random::stream(self.seed, u64::MAX - 1).range(0, 255),
        }
    }

    /// The constant for names in runs: its distance to the load's lies in 65..=119 and is neither 96 nor 112
    /// (clause 2.1.6.1).
    pub(crate) fn c_run(&self) -> i64 {
        let load = self.c_load();
        let delta = 66;
        if load + delta <= 255 { load + delta } else { load - delta }
    }
}

impl Layout {
    /// Name of the ORDER table.
    pub fn orders(self) -> &'static str {
        match self {
            Self::Standard => "orders",
            Self::BenchBase => "oorder",
        }
    }

    /// Name of the NEW-ORDER table.
    pub fn new_orders(self) -> &'static str {
        match self {
            Self::Standard => "new_orders",
            Self::BenchBase => "new_order",
        }
    }
}

/// All tables, children first.
pub fn tables(layout: Layout) -> [&'static str; 9] {
    [
        "history",
        layout.new_orders(),
        "order_line",
        layout.orders(),
        "customer",
        "stock",
        "item",
        "district",
        "warehouse",
    ]
}

/// `CREATE TABLE` statements, primary keys only.
pub fn create_tables(set: &DataSet) -> Vec<String> {
    let standard = set.layout == Layout::Standard;
    let (time, ytd_payment, s_ytd) = if standard {
        ("DATETIME", "DECIMAL(12,2)", "DECIMAL(8,0)")
    } else {
        ("TIMESTAMP", "FLOAT", "DECIMAL(8,2)")
    };
    let history_key = if set.history_key { "h_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, " } else { "" };
    let (orders, new_orders) = (set.layout.orders(), set.layout.new_orders());
    let dists: String = (1..=10).map(|d| format!("s_dist_{d:02} CHAR(24) NOT NULL, ")).collect();
    let address = |p: &str| {
        format!(
            "{p}_street_1 VARCHAR(20) NOT NULL, {p}_street_2 VARCHAR(20) NOT NULL, {p}_city VARCHAR(20) NOT NULL, \
             {p}_state CHAR(2) NOT NULL, {p}_zip CHAR(9) NOT NULL"
        )
    };
    // A TIMESTAMP without a default gets "on update" on some servers.
    let now = if standard { "NOT NULL" } else { "NOT NULL DEFAULT CURRENT_TIMESTAMP" };
    [
        format!(
            "CREATE TABLE IF NOT EXISTS warehouse (w_id INT NOT NULL, w_name VARCHAR(10) NOT NULL, {}, \
             w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL, PRIMARY KEY (w_id))",
            address("w")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS district (d_w_id INT NOT NULL, d_id INT NOT NULL, d_name VARCHAR(10) NOT NULL, {}, \
             d_tax DECIMAL(4,4) NOT NULL, d_ytd DECIMAL(12,2) NOT NULL, d_next_o_id INT NOT NULL, \
             PRIMARY KEY (d_w_id, d_id))",
            address("d")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS customer (c_w_id INT NOT NULL, c_d_id INT NOT NULL, c_id INT NOT NULL, \
             c_first VARCHAR(16) NOT NULL, c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, {}, \
             c_phone CHAR(16) NOT NULL, c_since {time} {now}, c_credit CHAR(2) NOT NULL, \
             c_credit_lim DECIMAL(12,2) NOT NULL, c_discount DECIMAL(4,4) NOT NULL, c_balance DECIMAL(12,2) NOT NULL, \
             c_ytd_payment {ytd_payment} NOT NULL, c_payment_cnt INT NOT NULL, c_delivery_cnt INT NOT NULL, \
             c_data VARCHAR(500) NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id))",
            address("c")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS history ({history_key}h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, \
             h_c_w_id INT NOT NULL, h_d_id INT NOT NULL, h_w_id INT NOT NULL, h_date {time} {now}, \
             h_amount DECIMAL(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL)"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {orders} (o_w_id INT NOT NULL, o_d_id INT NOT NULL, o_id INT NOT NULL, \
             o_c_id INT NOT NULL, o_carrier_id INT NULL, o_ol_cnt INT NOT NULL, o_all_local INT NOT NULL, \
             o_entry_d {time} {now}, PRIMARY KEY (o_w_id, o_d_id, o_id))"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {new_orders} (no_w_id INT NOT NULL, no_d_id INT NOT NULL, no_o_id INT NOT NULL, \
             PRIMARY KEY (no_w_id, no_d_id, no_o_id))"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS order_line (ol_w_id INT NOT NULL, ol_d_id INT NOT NULL, ol_o_id INT NOT NULL, \
             ol_number INT NOT NULL, ol_i_id INT NOT NULL, ol_delivery_d {time} NULL DEFAULT NULL, \
             ol_amount DECIMAL(6,2) NOT NULL, ol_supply_w_id INT NOT NULL, ol_quantity INT NOT NULL, \
             ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))"
        ),
        "CREATE TABLE IF NOT EXISTS item (i_id INT NOT NULL, i_name VARCHAR(24) NOT NULL, i_price DECIMAL(5,2) NOT NULL, \
         i_data VARCHAR(50) NOT NULL, i_im_id INT NOT NULL, PRIMARY KEY (i_id))"
            .to_owned(),
        format!(
            "CREATE TABLE IF NOT EXISTS stock (s_w_id INT NOT NULL, s_i_id INT NOT NULL, s_quantity INT NOT NULL, \
             s_ytd {s_ytd} NOT NULL, s_order_cnt INT NOT NULL, s_remote_cnt INT NOT NULL, s_data VARCHAR(50) NOT NULL, \
             {dists}PRIMARY KEY (s_w_id, s_i_id))"
        ),
    ]
    // Statistics stay those of the load (ANALYZE at its end): plans do not change in the middle of a run, and the server
    // does not recalculate them every ten seconds for the small hot tables, which MySQL counts as ten commits each.
    .map(|sql| format!("{sql} ENGINE=InnoDB STATS_AUTO_RECALC=0"))
    .into()
}

/// (table, index, its `ADD` clause): what is created after the load.
pub fn secondary_indexes(set: &DataSet) -> Vec<(&'static str, &'static str, &'static str)> {
    let orders = match set.layout {
        Layout::Standard => {
            ("orders", "orders_customer", "ADD INDEX orders_customer (o_w_id, o_d_id, o_c_id, o_id)")
        }
        Layout::BenchBase => {
            ("oorder", "idx_order", "ADD UNIQUE INDEX idx_order (o_w_id, o_d_id, o_c_id, o_id)")
        }
    };
    let customer =
        ("customer", "idx_customer_name", "ADD INDEX idx_customer_name (c_w_id, c_d_id, c_last, c_first)");
    vec![customer, orders]
}

/// (table, constraint, its `ADD` clause), parents before children.
pub fn foreign_keys(set: &DataSet) -> Vec<(&'static str, &'static str, String)> {
    if !set.foreign_keys {
        return Vec::new();
    }
    let (orders, new_orders) = (set.layout.orders(), set.layout.new_orders());
    let cascade = if set.layout == Layout::BenchBase { " ON DELETE CASCADE" } else { "" };
    [
        ("district", "fk_district_warehouse", "d_w_id", "warehouse", "w_id"),
        ("stock", "fk_stock_warehouse", "s_w_id", "warehouse", "w_id"),
        ("stock", "fk_stock_item", "s_i_id", "item", "i_id"),
        ("customer", "fk_customer_district", "c_w_id, c_d_id", "district", "d_w_id, d_id"),
        ("history", "fk_history_customer", "h_c_w_id, h_c_d_id, h_c_id", "customer", "c_w_id, c_d_id, c_id"),
        ("history", "fk_history_district", "h_w_id, h_d_id", "district", "d_w_id, d_id"),
        (orders, "fk_orders_customer", "o_w_id, o_d_id, o_c_id", "customer", "c_w_id, c_d_id, c_id"),
        (new_orders, "fk_new_orders_orders", "no_w_id, no_d_id, no_o_id", orders, "o_w_id, o_d_id, o_id"),
        ("order_line", "fk_order_line_orders", "ol_w_id, ol_d_id, ol_o_id", orders, "o_w_id, o_d_id, o_id"),
        ("order_line", "fk_order_line_stock", "ol_supply_w_id, ol_i_id", "stock", "s_w_id, s_i_id"),
    ]
    .map(|(table, name, columns, parent, keys)| {
        (
            table,
            name,
            format!("ADD CONSTRAINT {name} FOREIGN KEY ({columns}) REFERENCES {parent} ({keys}){cascade}"),
        )
    })
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_constants_are_legal_for_every_seed() {
        for seed in 0..500 {
            for set in [DataSet::new(1, seed), DataSet::benchbase(1, seed)] {
                let (load, run) = (set.c_load(), set.c_run());
                let delta = (run - load).abs();
                assert!((0..=255).contains(&load) && (0..=255).contains(&run));
                assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{load} {run}");
            }
        }
    }
}
