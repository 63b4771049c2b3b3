//! The settings as flags: which ones a verb has, how each is shown, and which values were given. The table in
//! `ken-setup` defines what they are.

mod values;

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, ValueHint};

pub(crate) use ken_setup::{Key, Settings, count, seed};
pub(crate) use values::{open_share, sampling_temperature, share};

/// Settings by their names.
macro_rules! keys {
    ($($key:ident)+) => { [$($crate::config::Key::$key),+] };
}
pub(crate) use keys;

/// The help heading of flags that few people need; `-h` leaves them out.
pub(crate) const ADVANCED: &str = "Advanced";

/// The settings that `-h` shows.
const COMMON: &[Key] = &keys![
    adapter corpus datastore embedder filters k kbm listen mode model policy rerank router segment
    server_data server_keys sources
];

/// The settings of the language model.
pub(crate) const MODEL: &[Key] = &keys![
    prompt_form model model_name model_thinks adapter precision device max_tokens seed
];

/// The settings of how passages are found.
pub(crate) const FINDING: &[Key] = &keys![
    mode recall rerank rerank_depth rerank_chunk scale reverse filters moved_embedder
    embedder_replicas
];

/// The settings of what policies decide by.
pub(crate) const DECIDING: &[Key] = &keys![
    samples router gate kbm kbm_model kbm_for_any_model datastore
];

/// The flags of some settings.
pub(crate) fn flags(keys: &[Key]) -> Vec<Arg> {
    keys.iter().map(|key| key.flag()).collect()
}

/// The flags of some settings, all of them advanced.
pub(crate) fn advanced(keys: &[Key]) -> Vec<Arg> {
    let flags = flags(keys).into_iter();
    flags.map(|flag| flag.help_heading(ADVANCED)).collect()
}

/// A setting as a flag.
pub(crate) trait Flag: Copy {
    /// The flag of the setting.
    fn flag(self) -> Arg;

    /// The flag of the setting with this help, for a verb that has a use of its own for it. The short help is the
    /// first sentence.
    fn flag_for(self, help: &str) -> Arg;
}

impl Flag for Key {
    fn flag(self) -> Arg {
        self.flag_for(&help_of_verb(self.setting().help))
    }

    fn flag_for(self, help: &str) -> Arg {
        let setting = self.setting();
        let help = help.trim();
        let default = match setting.default {
            "" => String::new(),
            default => format!(" [default: {}]", default.replace('`', "")),
        };
        let key = match setting.has_key() {
            true => format!(" [setting: {}]", setting.key),
            false => String::new(),
        };
        let facts = format!("{default}{key}");
        let long = match facts.trim_start() {
            "" => help.to_owned(),
            facts => format!("{help}\n\n{facts}"),
        };
        let short = help.split(". ").next().unwrap_or_default();
        let check = setting.check;
        let flag = Arg::new(id(self))
            .long(setting.only_flag.unwrap_or(setting.key).replace('_', "-"))
            .help(format!("{short}{default}"))
            .long_help(long)
            .value_name(setting.value_name)
            .value_parser(OsStringValueParser::new().try_map(move |given: OsString| check(&given)))
            .allow_negative_numbers(true);
        let mut named = setting.value_name.split(|c: char| !c.is_alphabetic());
        // Shells complete names of files where nothing is said.
        let flag = flag.value_hint(
            match named.any(|name| matches!(name, "DIR" | "FILE" | "REF")) {
                true => ValueHint::AnyPath,
                false => ValueHint::Other,
            },
        );
        let flag = flag.short((self == Key::k).then_some('k'));
        let flag = match COMMON.contains(&self) {
            true => flag,
            false => flag.help_heading(ADVANCED),
        };
        match (setting.is_switch, setting.is_list) {
            (true, _) => flag
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true"),
            (_, true) => flag.action(ArgAction::Append),
            _ => flag,
        }
    }
}

/// The help of a setting in the help of a verb: of settings of the server without saying so, since `serve` alone has
/// their flags.
fn help_of_verb(help: &str) -> String {
    let help = help.trim();
    let Some(own) = help.strip_prefix("With `serve`: ") else {
        return help.to_owned();
    };
    let mut own = own.chars();
    let first = own.next().into_iter().flat_map(char::to_uppercase);
    first.chain(own).collect()
}

/// The id of a setting in clap. Flags that are not settings may have its name.
fn id(key: Key) -> String {
    format!("setting {}", key.setting().key)
}

/// The values of the flags of the innermost verb, including the global ones.
pub(crate) fn given(arguments: &ArgMatches) -> Vec<(Key, OsString)> {
    let mut verb = arguments;
    while let Some((_, inner)) = verb.subcommand() {
        verb = inner;
    }
    let values = |key: Key| {
        let values = verb.try_get_raw(&id(key)).ok().flatten();
        let values = values.into_iter().flatten();
        values.map(move |value| (key, value.to_owned()))
    };
    Key::ALL.iter().copied().flat_map(values).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Command;

    use super::*;

    /// A verb within a verb that takes all settings.
    fn command() -> Command {
        let of = |switch: bool| {
            let keys = Key::ALL.iter();
            keys.filter(move |key| key.setting().is_switch == switch)
        };
        let global = of(true).map(|key| key.flag().global(true));
        let own = of(false).filter(|key| **key != Key::moved_embedder);
        let inner = Command::new("inner").args(own.map(|key| key.flag()));
        Command::new("ken").args(global).subcommand(inner)
    }

    fn resolved(file: &Path, flags: &[&str]) -> Result<Settings, clap::Error> {
        let words = [&["ken", "--trust-corpus-embedder", "inner"], flags].concat();
        let matches = command().try_get_matches_from(words)?;
        Ok(Settings::resolve(Some(file), given(&matches)).unwrap())
    }

    #[test]
    fn flags_of_the_server_do_not_say_that_they_are() {
        let short = |key: Key| key.flag().get_help().map(ToString::to_string);
        let listen = short(Key::listen).unwrap();
        assert_eq!(listen, "Address to listen on [default: 127.0.0.1:8484]");
        let rerank = Key::rerank_depth
            .flag()
            .get_long_help()
            .map(ToString::to_string);
        assert!(rerank.unwrap().starts_with("With --rerank: passages"));
        for key in Key::ALL {
            assert!(!short(*key).unwrap().contains("With `serve`"));
        }
    }

    #[test]
    fn flags_are_read_wherever_they_stand_and_win() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ken.toml");
        std::fs::write(&file, "allow_plaintext_keys = true\nk = 1\nmax_tokens = 7").unwrap();
        let flags = [
            "--corpora=w=c",
            "--corpora",
            "b",
            "--filter",
            "a=1",
            "--filter",
            "b=2",
            "--k",
            "3",
            "--temperature=1",
            "--scale=2",
            "--reverse",
            "--allow-plaintext-keys=false",
        ];
        let settings = resolved(&file, &flags).unwrap();
        assert_eq!((settings.k, settings.max_tokens), (Some(3), Some(7)));
        assert_eq!(settings.folder().unwrap(), Path::new("c"));
        assert_eq!((settings.filters.len(), settings.sources.len()), (2, 2));
        assert!(
            settings.trust_corpus_embedder && settings.reverse && !settings.allow_plaintext_keys
        );
        for bad in [
            ["--k", "0"],
            ["--k", "-1"],
            ["--mode", "deep"],
            ["--adapter", ""],
        ] {
            let error = resolved(&file, &bad).unwrap_err();
            let expected = format!("invalid value '{}' for '{} <", bad[1], bad[0]);
            assert!(error.to_string().contains(&expected), "{error}");
        }
        assert!(resolved(&file, &["--k", "1", "--k", "2"]).is_err());
    }
}
