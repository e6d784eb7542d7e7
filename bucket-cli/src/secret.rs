//! Texts without the user and the password of the connection string.

use std::env;

/// What is shown in the place of a secret.
const HIDDEN: &str = "***";
/// Options of a connection string that hold secrets.
const SECRET: [&str; 2] = ["tlscertificatekeyfilepassword=", "authmechanismproperties="];
/// The options of this program whose values are connection strings.
const OPTIONS: [&str; 2] = ["--uri", "--source-uri"];
/// A shorter user or password is in other words by chance; hidden there, it would show itself.
const SHORTEST: usize = 4;

/// The secrets of the connection strings that this program was given.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Each connection string, and what is shown of it.
    whole: Vec<(String, String)>,
    /// Passwords, which are hidden wherever they are a word.
    passwords: Vec<String>,
    /// Users, which only an error of the driver or the server names: elsewhere such a word is the name of something else.
    users: Vec<String>,
}

impl Secrets {
    /// Those of the arguments and of the environment.
    pub(crate) fn of_process() -> Self {
        let mut secrets = Self::default();
        for name in ["MONGODB_URI", "SOURCE_MONGODB_URI"] {
            if let Some(uri) = env::var_os(name) {
                secrets.add(&uri.to_string_lossy());
            }
        }
        let mut is_value = false;
        for word in env::args_os().skip(1) {
            let word = word.to_string_lossy();
            let uri = OPTIONS
                .iter()
                .find_map(|option| word.strip_prefix(option)?.strip_prefix('='));
            let uri = uri.unwrap_or(&word);
            // Also one in the wrong place, which an error names; a key may be the address of something else.
            if is_value || uri.len() < word.len() || is_like_uri(uri) {
                secrets.add(uri);
            }
            is_value = OPTIONS.contains(&word.as_ref());
        }
        secrets
    }

    /// Adds those of a connection string.
    fn add(&mut self, uri: &str) {
        let shown = shown(uri);
        if shown == uri {
            return;
        }
        let user_info = user_info(uri).unwrap_or_default();
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        let options = values(uri).into_iter().map(|(from, to)| &uri[from..to]);
        for part in [user_info, password].into_iter().chain(options) {
            add_part(&mut self.passwords, part);
        }
        // The pair before what is a part of it.
        self.passwords
            .sort_by_key(|part| std::cmp::Reverse(part.len()));
        // The database often has the name of its user.
        if without_word(&shown, user) == shown {
            add_part(&mut self.users, user);
        }
        self.whole.push((uri.to_owned(), shown));
    }

    /// The text of an error with `***` for each of them.
    pub(crate) fn hide(&self, text: &str) -> String {
        let users = self.users.iter();
        users.fold(self.hide_passwords(text), |text, user| {
            without_word(&text, user)
        })
    }

    /// A text of ours, which names no user.
    pub(crate) fn hide_passwords(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (uri, shown) in &self.whole {
            text = text.replace(uri, shown);
        }
        for part in &self.passwords {
            text = without_word(&text, part);
        }
        text
    }
}

/// Adds a part as it is typed, and as the server knows it.
fn add_part(parts: &mut Vec<String>, part: &str) {
    for part in [part.to_owned(), decoded(part)] {
        if part.chars().count() >= SHORTEST && !parts.contains(&part) {
            parts.push(part);
        }
    }
}

/// Whether a word is meant as a connection string, perhaps with a mistake in it.
fn is_like_uri(word: &str) -> bool {
    let scheme = word.split_once("://").map(|(scheme, _)| scheme);
    let letters = scheme.and_then(|scheme| scheme.get(..4));
    letters.is_some_and(|letters| letters.eq_ignore_ascii_case("mong"))
}

/// The user and the password. One that is not encoded may hold a blank, `/`, `?` or `@`: all up to the last `@`. Without `@`,
/// all of what cannot be hosts.
fn user_info(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    if let Some((user_info, _)) = rest.rsplit_once('@') {
        return Some(user_info);
    }
    (!are_hosts(authority(rest))).then_some(rest)
}

fn authority(rest: &str) -> &str {
    rest.split(['/', '?']).next().unwrap_or_default()
}

/// Whether these are hosts for sure: a password may be where a port belongs.
fn are_hosts(authority: &str) -> bool {
    authority.split(',').all(|host| {
        let is_inside_brackets = host.starts_with('[') && host.ends_with(']');
        let (name, port) = match host.rsplit_once(':') {
            Some(parts) if !is_inside_brackets => parts,
            _ => (host, ""),
        };
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-[]:%".contains(c);
        name.chars().all(is_of_name) && port.chars().all(|c| c.is_ascii_digit())
    })
}

/// The places of the values of secret options.
fn values(uri: &str) -> Vec<(usize, usize)> {
    // ASCII letters have the same place in both cases.
    let lower = uri.to_ascii_lowercase();
    let mut places = Vec::new();
    for option in SECRET {
        for (at, _) in lower.match_indices(option) {
            let from = at + option.len();
            let end = uri[from..].find('&').map_or(uri.len(), |end| from + end);
            places.push((from, end));
        }
    }
    places.sort_unstable();
    places
}

/// A connection string as it may be shown.
pub(crate) fn shown(uri: &str) -> String {
    let mut shown = uri.to_owned();
    for (from, to) in values(uri).into_iter().rev() {
        shown.replace_range(from..to, HIDDEN);
    }
    let hidden = user_info(&shown).map(|user_info| {
        let begin = shown.find("://").map_or(0, |at| at + 3);
        (begin, begin + user_info.len())
    });
    if let Some((from, to)) = hidden {
        shown.replace_range(from..to, HIDDEN);
    }
    shown
}

/// A connection string with the same mistakes outside of its secrets, which has none of them; `None` if nobody can say what is a
/// secret.
pub(crate) fn without_secrets(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    let (user, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => ("user:password@", rest),
        None => ("", rest),
    };
    if !are_hosts(authority(rest))
        || !scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '+')
    {
        return None;
    }
    let is_secret = |option: &&str| {
        let option = option.to_ascii_lowercase();
        SECRET.iter().any(|secret| option.starts_with(secret))
    };
    let rest = match rest.split_once('?') {
        None => rest.to_owned(),
        Some((path, options)) => {
            let kept = options.split('&').filter(|option| !is_secret(option));
            format!("{path}?{}", kept.collect::<Vec<_>>().join("&"))
        }
    };
    Some(format!("{scheme}://{user}{rest}"))
}

/// The text without a word, where no letter or digit goes on before or after it.
fn without_word(text: &str, word: &str) -> String {
    if word.is_empty() {
        return text.to_owned();
    }
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    let goes_on = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    while let Some(at) = rest.find(word) {
        let (before, found) = rest.split_at(at);
        let after = &found[word.len()..];
        let last = before.chars().next_back().or(left.chars().next_back());
        left.push_str(before);
        let is_word = !goes_on(last) && !goes_on(after.chars().next());
        left.push_str(if is_word { HIDDEN } else { word });
        rest = after;
    }
    left + rest
}

/// A text without its percent-encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        if let Some(byte) = byte.filter(|_| *first == b'%') {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(uri: &str, text: &str) -> String {
        let mut secrets = Secrets::default();
        secrets.add(uri);
        secrets.hide(text)
    }

    #[test]
    fn no_connection_string_keeps_its_password() {
        for (uri, expected) in [
            (
                "mongodb://me:s3cret@db:27017/shop?tls=true",
                "mongodb://***@db:27017/shop?tls=true",
            ),
            ("mongodb+srv://u:a/b@c@host", "mongodb+srv://***@host"),
            ("mongodb://host/shop", "mongodb://host/shop"),
            ("mongodb://[::1]:27017,b:1/x", "mongodb://[::1]:27017,b:1/x"),
            (
                "mongodb://h/?tlsCertificateKeyFilePassword=x&w=1",
                "mongodb://h/?tlsCertificateKeyFilePassword=***&w=1",
            ),
            ("mongodb://me:pa ss@h", "mongodb://***@h"),
            ("MONGODB://me:pw@h", "MONGODB://***@h"),
            ("mongdb://me:pw@h", "mongdb://***@h"),
            ("mongodb://me:s3cret", "mongodb://***"),
            ("mongodb://me:s3/cret", "mongodb://***"),
        ] {
            assert_eq!(shown(uri), expected);
            let text = format!("`{uri}` is unknown");
            assert_eq!(hidden(uri, &text), format!("`{expected}` is unknown"));
        }
    }

    #[test]
    fn parts_of_it_are_hidden_and_other_texts_are_not_changed() {
        let uri = "mongodb://operator:s3cr%40t-word@db/shop";
        for (text, expected) in [
            ("user operator is unknown", "user *** is unknown"),
            ("s3cr%40t-word", "***"),
            ("not `s3cr@t-word`", "not `***`"),
            ("operators", "operators"),
            ("records http://user@site/x", "records http://user@site/x"),
            (
                "it is mongodb://USER:PASSWORD@HOST/DATABASE, `:/?#[]@%`",
                "it is mongodb://USER:PASSWORD@HOST/DATABASE, `:/?#[]@%`",
            ),
        ] {
            assert_eq!(hidden(uri, text), expected);
        }
        let of_shop = "mongodb://shop:secret@db/shop";
        assert_eq!(hidden(of_shop, "--database shop"), "--database shop");
        let mut secrets = Secrets::default();
        secrets.add("mongodb://trades:secret@db/shop");
        assert_eq!(secrets.hide_passwords("-m trades"), "-m trades");
        // Hidden as a word, it would tell itself.
        assert_eq!(hidden("mongodb://a:b@h", "a bucket"), "a bucket");
    }

    #[test]
    fn what_is_parsed_again_has_no_secret() {
        for (uri, expected) in [
            (
                "mongodb://me:pw@h/x?tls=y&authMechanismProperties=TOKEN:1&w=2",
                Some("mongodb://user:password@h/x?tls=y&w=2"),
            ),
            ("mongodb://h/x?nope=1", Some("mongodb://h/x?nope=1")),
            ("mongodb://me:s3cret", None),
            ("mongodb://me:pw@[bad word/x", None),
            ("no uri", None),
        ] {
            assert_eq!(without_secrets(uri).as_deref(), expected, "{uri}");
        }
    }
}
