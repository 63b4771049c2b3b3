//! Origins of web pages and programs that may use a server from a browser.

use std::str::FromStr;

use serde::Serialize;

/// Origins such as `https://chat.example.org`, as browsers name them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Origins(Vec<String>);

impl Origins {
    /// Whether an origin is among them.
    pub fn have(&self, origin: &str) -> bool {
        self.0.iter().any(|own| own.eq_ignore_ascii_case(origin))
    }
}

impl FromStr for Origins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let origins = text.split(',').map(str::trim).map(|origin| {
            let is_name = |name: &str, others: &[u8]| {
                let fits = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
                !name.is_empty() && name.bytes().all(fits)
            };
            let parts = origin.split_once("://");
            match parts.is_some_and(|(scheme, host)| is_name(scheme, b"+-.") && is_name(host, b"-._:[]")) {
                true => Ok(origin.to_owned()),
                false => Err(format!(
                    "`{origin}` is no origin: scheme, host and port, such as https://chat.example.org, joined by commas"
                )),
            }
        });
        Ok(Self(origins.collect::<Result<_, String>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_to_their_end() {
        let origins: Origins = "https://chat.example.org, http://localhost:3000,app://obsidian.md"
            .parse()
            .unwrap();
        for origin in [
            "https://CHAT.example.org",
            "http://localhost:3000",
            "app://obsidian.md",
        ] {
            assert!(origins.have(origin), "{origin}");
        }
        for origin in [
            "http://chat.example.org",
            "http://localhost",
            "null",
            "https://chat.example.org.evil.com",
        ] {
            assert!(!origins.have(origin), "{origin}");
        }
        for wrong in [
            "",
            "*",
            "null",
            "https://",
            "https://a/b",
            "https://a b",
            "a.example.org",
            "https://a,",
        ] {
            assert!(wrong.parse::<Origins>().is_err(), "{wrong}");
        }
    }
}
