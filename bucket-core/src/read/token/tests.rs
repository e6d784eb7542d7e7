//! The format of tokens, and texts that are not tokens.

use super::*;

const QUERY_OF_TESTS: Query = Query([1, 2, 3, 4, 5, 6]);

fn position(time: i64, sequence: u64, at: i64, index: u32) -> Position {
    Position {
        place: Place { time, sequence },
        time: at,
        index,
    }
}

#[test]
fn every_position_survives_its_token() {
    let ends = [i64::MIN, -1, 0, 1, 1_769_767_200, i64::MAX];
    for time in ends {
        for at in ends {
            for (sequence, index, millis) in [(0, 0, 1), (u64::MAX, u32::MAX, 1000), (7, 59, 1000)]
            {
                let position = position(time, sequence, at, index);
                let token = CursorToken::new(QUERY_OF_TESTS, &position, millis);
                assert!(token.as_str().len() <= LONGEST, "{token}");
                assert_eq!(token.position(QUERY_OF_TESTS, millis), Ok(position));
            }
        }
    }
}

#[test]
fn a_token_of_an_ordinary_record_is_short_and_safe_in_urls() {
    let position = position(1_769_767_200, 0, 1_769_768_345_678, 42);
    let token = CursorToken::new(QUERY_OF_TESTS, &position, 1000);
    assert!(token.as_str().len() <= 30, "{token}");
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    assert!(token.as_str().chars().all(safe), "{token}");
}

#[test]
fn every_changed_character_is_noticed() {
    let token = CursorToken::new(QUERY_OF_TESTS, &position(1, 2, 3, 4), 1000);
    for at in 0..token.as_str().len() {
        for other in ["A", "B", "_", "=", " ", "\u{e9}"] {
            let mut text = token.as_str().to_owned();
            text.replace_range(at..=at, other);
            if text != token.as_str() {
                let found = CursorToken::from(text).position(QUERY_OF_TESTS, 1000);
                assert_eq!(found, Err(TokenError::Malformed));
            }
        }
    }
    for end in 0..token.as_str().len() {
        let found = CursorToken::from(&token.as_str()[..end]).position(QUERY_OF_TESTS, 1000);
        assert_eq!(found, Err(TokenError::Malformed));
    }
}

#[test]
fn tokens_of_other_versions_and_queries_are_refused() {
    let token = CursorToken::new(QUERY_OF_TESTS, &position(1, 2, 3, 4), 1000);
    assert_eq!(
        token.position(Query([0; QUERY]), 1000),
        Err(TokenError::OtherQuery)
    );
    let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(token.as_str()).unwrap();
    bytes.truncate(bytes.len() - CHECK);
    bytes[0] = 2;
    let sum = check(&bytes);
    bytes.extend_from_slice(&sum);
    let token = CursorToken(BASE64_URL_SAFE_NO_PAD.encode(bytes));
    let other = Err(TokenError::Version { version: 2 });
    assert_eq!(token.position(QUERY_OF_TESTS, 1000), other);
}

#[test]
fn the_format_of_version_1_never_changes() {
    let position = position(1_769_767_200, 1, 1_769_768_345_678, 42);
    let token = CursorToken::new(QUERY_OF_TESTS, &position, 1000);
    assert_eq!(token.as_str(), "AQECAwQFBsCE5JcNAZztiwEqgSZYvw");
}
