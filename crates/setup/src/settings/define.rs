//! The macro that makes, from the table in `table`, everything that settings are: fields with defaults, keys of the
//! file, variables, and what a command line needs for flags with help.

use std::ffi::OsStr;
use std::path::Path;

/// One line of the table of `S`.
pub struct Setting<S> {
    /// Its key in `ken.toml`; in capitals after `KEN_` also its variable.
    pub key: &'static str,
    /// What it is for; the first sentence is enough for a short help.
    pub help: &'static str,
    /// What its value is called, as in `--k N`.
    pub value_name: &'static str,
    /// The default; empty for none.
    pub default: &'static str,
    /// Where the documentation says more; empty if nowhere.
    pub see: &'static str,
    /// The name of its flag, if only a flag can set it.
    pub only_flag: Option<&'static str>,
    /// Whether it is true or false.
    pub is_switch: bool,
    /// Whether it takes several values.
    pub is_list: bool,
    /// The reason why a value cannot be taken, if so.
    pub check: fn(&OsStr) -> Result<(), String>,
    /// Sets a value. A relative path is relative to the folder, if there is one.
    pub(super) put: fn(&mut S, &OsStr, Option<&Path>) -> Result<(), String>,
}

impl<S> Setting<S> {
    /// Whether the file and the environment may set it.
    pub fn has_key(&self) -> bool {
        self.only_flag.is_none()
    }
}

/// Defines the settings. A line of the table is
///
/// ```text
/// /// Help, which the documentation shows, too.
/// key: Type, "NAME OF ITS VALUE" = "default", see "where there is more", only_flag "name";
/// ```
///
/// in which everything after the value's name is optional.
macro_rules! settings {
    ($(
        $(#[doc = $help:literal])+
        $(#[serde($($serde:tt)*)])?
        $key:ident: $type:ty, $value_name:literal
        $(= $default:literal)? $(, see $see:literal)? $(, only_flag $flag:literal)?;
    )+) => {
        /// The settings of a run.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        pub struct Settings {
            $($(#[doc = $help])+ $(#[serde($($serde)*)])? pub $key: $type,)+
            /// The shards that are searched.
            #[serde(serialize_with = "as_text")]
            pub active: Active,
            /// Where the keys of servers are.
            pub keys: Keys,
            /// Which servers a person named, and which only the folder's own file.
            #[serde(skip)]
            pub named: Named,
        }

        /// The settings by name.
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Key {
            $($(#[doc = $help])+ $key,)+
        }

        impl Key {
            /// All settings.
            pub const ALL: &[Self] = &[$(Self::$key),+];

            /// Its line of the table.
            pub fn setting(self) -> &'static Setting<Settings> {
                &SETTINGS[self as usize]
            }
        }

        /// All settings, in the order of [`Key`].
        pub(super) static SETTINGS: &[Setting<Settings>] = &[$(Setting {
            key: stringify!($key),
            help: concat!($($help),+),
            value_name: $value_name,
            default: concat!($($default)?),
            see: concat!($($see)?),
            only_flag: [$(Some($flag),)? None][0],
            is_switch: <$type as Value>::IS_SWITCH,
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
            /// The defaults.
            pub(super) fn by_default() -> Result<Self, SetupError> {
                let bad = |key: &str, reason| SetupError::BadValue {
                    given: format!("the default of `{key}`"),
                    reason,
                };
                Ok(Self {
                    $($key: Value::by_default(concat!($($default)?))
                        .map_err(|reason| bad(stringify!($key), reason))?,)+
                    active: Active::All,
                    keys: Keys::default(),
                    named: Named::default(),
                })
            }
        }
    };
}
pub(super) use settings;
