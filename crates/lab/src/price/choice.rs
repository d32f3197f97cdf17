//! What to buy, once the throughput of some offers has been measured.

use super::Usd;

/// A machine with a configuration: what it costs a year, and what it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// What it is.
    pub name: String,
    /// Price of a year.
    pub yearly: Usd,
    /// Measured throughput, transactions a second.
    pub throughput: f64,
}

/// Transactions a second for a thousand dollars a year.
pub fn per_thousand_dollars(throughput: f64, yearly: Usd) -> f64 {
    throughput / yearly.dollars() * 1000.0
}

/// The same throughput for less: the cheapest offer that does at least `throughput`. Of two that cost the same, the faster.
pub fn cheapest_at_least(offers: &[Offer], throughput: f64) -> Option<&Offer> {
    let enough = offers.iter().filter(|offer| offer.throughput >= throughput);
    enough.min_by(|a, b| a.yearly.cmp(&b.yearly).then(b.throughput.total_cmp(&a.throughput)))
}

/// More for the same money: the fastest offer that costs at most `yearly`. Of two equally fast ones, the cheaper.
pub fn best_within(offers: &[Offer], yearly: Usd) -> Option<&Offer> {
    let affordable = offers.iter().filter(|offer| offer.yearly <= yearly);
    affordable.max_by(|a, b| a.throughput.total_cmp(&b.throughput).then(b.yearly.cmp(&a.yearly)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers() -> Vec<Offer> {
        let offer = |name: &str, dollars, throughput| Offer {
            name: name.into(),
            yearly: Usd::from_dollars(dollars),
            throughput,
        };
        vec![
            offer("big, default", 14_383.68, 781.0),
            offer("small, tuned", 7191.84, 1535.0),
            offer("small, default", 7191.84, 396.0),
        ]
    }

    #[test]
    fn the_same_throughput_for_less() {
        assert_eq!(cheapest_at_least(&offers(), 781.0).unwrap().name, "small, tuned");
        assert_eq!(
            cheapest_at_least(&offers(), 100.0).unwrap().name,
            "small, tuned",
            "of equal price, the faster"
        );
        assert_eq!(cheapest_at_least(&offers(), 2000.0), None);
    }

    #[test]
    fn more_for_the_same_money() {
        assert_eq!(best_within(&offers(), Usd::from_dollars(14_383.68)).unwrap().name, "small, tuned");
        assert_eq!(best_within(&offers(), Usd::from_dollars(100.0)), None);
    }

    #[test]
    fn throughput_is_told_for_a_thousand_dollars_a_year() {
        assert!((per_thousand_dollars(719.184, Usd::from_dollars(7191.84)) - 100.0).abs() < 1e-9);
    }
}
