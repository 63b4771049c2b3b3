//! The cost of a month, by given prices.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::quantity::Quantity;

/// Prices, in one unit of money.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Per GB of memory and month.
    pub memory_gb: f64,
    /// Per GB on disk and month.
    pub disk_gb: f64,
    /// Per million tokens.
    pub million_tokens: f64,
    /// Questions per month.
    pub questions: f64,
    /// Per hour of one core.
    pub core_hour: f64,
    /// Per hour of one GPU.
    pub gpu_hour: f64,
}

/// A text that is no price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no price: memory_gb, disk_gb, million_tokens, core_hour, gpu_hour (each = a price) and questions (= a number a month) are known"
)]
pub struct NotAPrice(String);

impl FromStr for Prices {
    type Err = NotAPrice;

    /// Parses `memory_gb=4,million_tokens=0.2,questions=100000`.
    fn from_str(text: &str) -> Result<Self, NotAPrice> {
        let mut prices = Self::default();
        for part in text.split(',') {
            let bad = || NotAPrice(part.to_owned());
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let value: f64 = value.trim().parse().map_err(|_| bad())?;
            let price = match name.trim() {
                "memory_gb" => &mut prices.memory_gb,
                "disk_gb" => &mut prices.disk_gb,
                "million_tokens" => &mut prices.million_tokens,
                "questions" => &mut prices.questions,
                "core_hour" => &mut prices.core_hour,
                "gpu_hour" => &mut prices.gpu_hour,
                _ => return Err(bad()),
            };
            if !(value.is_finite() && value >= 0.0) {
                return Err(bad());
            }
            *price = value;
        }
        Ok(prices)
    }
}

impl Prices {
    /// Adds the cost of a month to costs, if prices are given and all priced costs are known.
    pub(super) fn added(
        &self,
        mut costs: BTreeMap<&'static str, f64>,
    ) -> BTreeMap<&'static str, f64> {
        let priced = |quantity: Quantity, price: f64| match price > 0.0 {
            true => costs.get(quantity.name()).map(|value| value * price),
            false => Some(0.0),
        };
        let month = priced(Quantity::Memory, self.memory_gb / 1e9)
            .zip(priced(Quantity::Disk, self.disk_gb / 1e9))
            .zip(priced(
                Quantity::Tokens,
                self.million_tokens / 1e6 * self.questions,
            ));
        if let Some(((memory, disk), tokens)) = month
            && *self != Self::default()
        {
            costs.insert(Quantity::Price.name(), memory + disk + tokens);
        }
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_memory_disk_and_tokens() {
        let prices: Prices = "memory_gb=4,disk_gb=0.1,million_tokens=0.5,questions=1000"
            .parse()
            .unwrap();
        let costs: BTreeMap<&str, f64> =
            [("memory", 2e9), ("disk", 1e10), ("tokens", 600.0)].into();
        let price = prices.added(costs)["price"];
        assert!((price - (8.0 + 1.0 + 0.3)).abs() < 1e-9, "{price}");
        assert!(
            !Prices::default()
                .added(BTreeMap::new())
                .contains_key("price")
        );
        // A priced cost that is unknown makes the month's cost unknown.
        assert!(!prices.added([("disk", 1.0)].into()).contains_key("price"));
        for bad in ["memory=4", "memory_gb", "memory_gb=-1", "questions=many"] {
            assert!(bad.parse::<Prices>().is_err(), "{bad}");
        }
    }
}
