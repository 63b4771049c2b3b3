//! Fields as clients of other APIs write them.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Number;

/// Reads `null` as the default: clients write it for what they leave out.
pub(crate) fn or_default<'de, D, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a seed: any whole number of 64 bits, with a sign or without.
pub(crate) fn seed<'de, D>(deserializer: D) -> Result<Option<u64>, D::Error>
where
    D: Deserializer<'de>,
{
    let Some(number) = Option::<Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let signed = || number.as_i64().map(|seed| seed as u64);
    let seed = number.as_u64().or_else(signed);
    let wrong = || D::Error::custom("a seed is a whole number of 64 bits");
    seed.map(Some).ok_or_else(wrong)
}
