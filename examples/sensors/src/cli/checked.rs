//! Options that depend on each other: they are checked while the command line is parsed, so that a
//! mistake is a usage error.

/// Parses `$checked` by converting it from the options `$raw`.
macro_rules! checked {
    ($raw:ty => $checked:ty) => {
        impl ::clap::FromArgMatches for $checked {
            fn from_arg_matches(matches: &::clap::ArgMatches) -> Result<Self, ::clap::Error> {
                let raw = <$raw as ::clap::FromArgMatches>::from_arg_matches(matches)?;
                Self::try_from(raw).map_err(|wrong| {
                    let kind = ::clap::error::ErrorKind::ValueValidation;
                    ::clap::Error::raw(kind, wrong)
                })
            }

            fn update_from_arg_matches(
                &mut self,
                matches: &::clap::ArgMatches,
            ) -> Result<(), ::clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }

        impl ::clap::Args for $checked {
            fn augment_args(command: ::clap::Command) -> ::clap::Command {
                <$raw as ::clap::Args>::augment_args(command)
            }

            fn augment_args_for_update(command: ::clap::Command) -> ::clap::Command {
                <$raw as ::clap::Args>::augment_args_for_update(command)
            }
        }
    };
}

pub(super) use checked;
