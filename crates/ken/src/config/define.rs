//! From one table to everything that settings are: fields with defaults, keys of the file, variables,
//! flags with their help. The table itself stands in `settings`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ValueHint};

/// One line of the table of `S`.
pub(crate) struct Setting<S> {
    /// Its key in `ken.toml`; in capitals after `KEN_` also its variable.
    pub(super) key: &'static str,
    /// What the command line knows it by, where other flags may have its name.
    pub(super) id: &'static str,
    pub(super) help: &'static str,
    pub(super) value_name: &'static str,
    /// What holds where nobody says; empty for nothing.
    pub(super) default: &'static str,
    /// Where the documentation says more.
    #[cfg_attr(not(test), expect(dead_code))]
    pub(super) more: &'static str,
    /// The flag, where it alone says this.
    pub(super) only_flag: Option<&'static str>,
    pub(super) is_truth: bool,
    pub(super) is_list: bool,
    /// Whether a value can be taken.
    pub(super) check: fn(&OsStr) -> Result<(), String>,
    /// Takes a value. A relative path is relative to the folder, where there is one.
    pub(super) put: fn(&mut S, &OsStr, Option<&Path>) -> Result<(), String>,
}

impl<S> Setting<S> {
    /// Whether the file and the environment may say it.
    pub(super) fn has_key(&self) -> bool {
        self.only_flag.is_none()
    }

    /// Its flag, with what it is for; the short help is the first sentence of that.
    pub(super) fn flag(&self, help: &str) -> Arg {
        let help = help.trim();
        let default = match self.default {
            "" => String::new(),
            default => format!(" [default: {}]", default.replace('`', "")),
        };
        let setting = match self.has_key() {
            true => format!(" [setting: {}]", self.key),
            false => String::new(),
        };
        let facts = format!("{default}{setting}");
        let long = match facts.trim_start() {
            "" => help.to_owned(),
            facts => format!("{help}\n\n{facts}"),
        };
        let short = help.split(". ").next().unwrap_or_default();
        let check = self.check;
        let name = self.only_flag.unwrap_or(self.key).replace('_', "-");
        let flag = Arg::new(self.id)
            .long(name)
            .help(format!("{short}{default}"))
            .long_help(long)
            .value_name(self.value_name)
            .value_parser(OsStringValueParser::new().try_map(move |given: OsString| check(&given)))
            .allow_negative_numbers(true);
        let flag = match self.value_name {
            "DIR" | "FILE" => flag.value_hint(ValueHint::AnyPath),
            _ => flag,
        };
        match (self.is_truth, self.is_list) {
            (true, _) => flag
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true"),
            (_, true) => flag.action(ArgAction::Append),
            _ => flag,
        }
    }
}

/// Defines the settings. A line of the table is
///
/// ```text
/// /// Help, which is that of the documentation, too.
/// key: Type, "NAME OF ITS VALUE" = "default", see "where there is more", only_flag "name";
/// ```
///
/// of which all behind the value's name may be left out.
macro_rules! settings {
    ($(
        $(#[doc = $help:literal])+
        $(#[serde($($serde:tt)*)])?
        $key:ident: $type:ty, $value_name:literal
        $(= $default:literal)? $(, see $more:literal)? $(, only_flag $flag:literal)?;
    )+) => {
        /// What holds for this run.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        pub(crate) struct Settings {
            $($(#[doc = $help])+ $(#[serde($($serde)*)])? pub(crate) $key: $type,)+
            /// The shards that are searched.
            #[serde(serialize_with = "as_text")]
            pub(crate) active: Active,
            /// Where the keys of servers are.
            pub(crate) keys: Keys,
        }

        /// The settings by name.
        #[allow(non_camel_case_types, dead_code)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Key {
            $($key,)+
        }

        /// All settings, in the order of [`Key`].
        pub(super) static SETTINGS: &[Setting<Settings>] = &[$(Setting {
            key: stringify!($key),
            id: concat!("setting ", stringify!($key)),
            help: concat!($($help),+),
            value_name: $value_name,
            default: concat!($($default)?),
            more: concat!($($more)?),
            only_flag: [$(Some($flag),)? None][0],
            is_truth: <$type as Value>::IS_TRUTH,
            is_list: <$type as Value>::IS_LIST,
            check: |given| <$type as Value>::read(given).map(drop),
            put: |settings, given, folder| {
                let value = <$type as Value>::read(given)?;
                settings.$key.put(match folder {
                    Some(folder) => value.below(folder),
                    None => value,
                });
                Ok(())
            },
        },)+];

        impl Settings {
            /// What holds where nobody says anything.
            pub(super) fn by_default() -> Result<Self, String> {
                Ok(Self {
                    $($key: Value::by_default(concat!($($default)?))?,)+
                    active: Active::All,
                    keys: Keys::default(),
                })
            }
        }
    };
}
pub(super) use settings;
