use std::sync::Arc;

use super::{NOW, TestIssuer, access};
use crate::{TokenCache, TokenType, mint};

#[test]
fn a13_similar_tokens_are_never_confused() {
    let issuer = TestIssuer::new();
    let cache = TokenCache::default();
    let first = mint(&issuer.set(), TokenType::Access, &access("ses_1")).unwrap();
    let second = mint(&issuer.set(), TokenType::Access, &access("ses_2")).unwrap();
    assert_eq!(first.split('.').next(), second.split('.').next());
    cache.insert(&first, Arc::new("ses_1"), NOW + 10);
    assert_eq!(cache.get(&second, NOW), None);
    cache.insert(&second, Arc::new("ses_2"), NOW + 10);
    assert_eq!(cache.get(&first, NOW).as_deref(), Some(&"ses_1"));
    assert_eq!(cache.get(&second, NOW).as_deref(), Some(&"ses_2"));
    // Same header and claims with another signature, and with trailing characters.
    let (rest, _) = first.rsplit_once('.').unwrap();
    for other in [format!("{rest}."), format!("{first}="), format!("{first} "), first[..first.len() - 1].to_owned()] {
        assert_eq!(cache.get(&other, NOW), None);
    }
}

#[test]
fn an_entry_expires_with_its_token() {
    let cache = TokenCache::default();
    cache.insert("a", Arc::new(1), NOW + 10);
    assert!(cache.get("a", NOW + 9).is_some());
    assert!(cache.get("a", NOW + 10).is_none());
    cache.clear();
    assert!(cache.is_empty());
    assert!(cache.get("a", NOW).is_none());
}

#[test]
fn the_cache_is_bounded_and_evicts_the_oldest() {
    let cache = TokenCache::with_capacity(160);
    for n in 0..10_000 {
        cache.insert(&format!("token {n}"), Arc::new(n), NOW + 10);
        cache.insert(&format!("token {n}"), Arc::new(n), NOW + 20);
        assert_eq!(cache.get(&format!("token {n}"), NOW + 15).as_deref(), Some(&n));
    }
    assert_eq!(cache.len(), 160);
}
