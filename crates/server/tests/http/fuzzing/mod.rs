//! Random requests and stored files, through the bodies of the fuzz targets: a short run that is the same each time.

pub(crate) mod kept;
pub(crate) mod requests;

#[cfg(test)]
mod tests {
    use super::kept::{JournalPlace, KeysPlace};
    use super::requests::{Asked, Tried};
    use crate::mutate::mutated;

    #[test]
    fn mutated_requests_are_answered_in_form() {
        for (tried, mutations) in [(Tried::Json, 12), (Tried::Files, 150)] {
            let mut asked = Asked::new(tried);
            for seed in asked.seeds() {
                asked.ask(&seed);
                for number in 0..mutations {
                    asked.ask(&mutated(&seed, number));
                }
            }
        }
    }

    #[test]
    fn mutated_files_of_keys_are_read_or_refused() {
        let place = KeysPlace::new();
        let valid = place.valid();
        assert!(place.read(&valid));
        let read = (0..3000).filter(|&seed| place.read(&mutated(&valid, seed)));
        // A name may change, and then these are other keys.
        assert!((1..1500).contains(&read.count()));
    }

    #[test]
    fn mutated_journals_and_records_are_opened_or_refused() {
        let mut place = JournalPlace::new();
        let seeds = JournalPlace::seeds();
        assert!(seeds.len() >= 3, "{}", seeds.len());
        for valid in seeds {
            assert!(place.open(&valid));
            for seed in 0..400 {
                place.open(&mutated(&valid, seed));
            }
        }
    }
}
