use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn one(contact: Value, country: &str) -> Value {
    let mut contact = contact;
    contact["id"] = json!("1");
    let input = json!({ "contacts": [contact], "default_country": country });
    crate::FAMILY.run(120, input, &Context::default()).unwrap()["contacts"][0].clone()
}

/// libphonenumber (its Python port phonenumbers 9.0): number, default country, E.164, type, country. Most are of its own
/// tests' example numbers.
#[test]
fn numbers_are_parsed_as_by_libphonenumber() {
    for (number, default, e164, kind, country) in [
        ("020 7031 3000", "GB", "+442070313000", "fixed_line", "GB"),
        ("(650) 253-0000", "US", "+16502530000", "fixed_line_or_mobile", "US"),
        ("044 668 18 00", "CH", "+41446681800", "fixed_line", "CH"),
        ("+39 02 36618 300", "US", "+390236618300", "fixed_line", "IT"),
        ("1 800 234 5678", "US", "+18002345678", "toll_free", "US"),
        ("07912345678", "GB", "+447912345678", "mobile", "GB"),
        ("+1 650 253 0000 ext. 123", "GB", "+16502530000", "fixed_line_or_mobile", "US"),
        ("tel:+1-201-555-0123", "US", "+12015550123", "fixed_line_or_mobile", "US"),
        ("011 44 20 7031 3000", "US", "+442070313000", "fixed_line", "GB"),
        ("+49 30 123456", "DE", "+4930123456", "fixed_line", "DE"),
        ("+1 (242) 365-1234", "US", "+12423651234", "fixed_line", "BS"),
        ("0236618300", "IT", "+390236618300", "fixed_line", "IT"),
        ("+800 1234 5678", "US", "+80012345678", "toll_free", ""),
        ("+44 (0) 20 7031 3000", "US", "+442070313000", "fixed_line", "GB"),
        ("0011 54 9 343 555 1212", "AU", "+5493435551212", "mobile", "AR"),
    ] {
        let contact = one(json!({ "phone": number }), default);
        assert_eq!(contact["e164"], e164, "{number}: {contact}");
        assert_eq!(contact["phone_valid"], true, "{number}");
        assert_eq!((&contact["phone_type"], &contact["country"]), (&json!(kind), &json!(country)), "{number}");
        assert_eq!(contact["problems"], json!([]));
    }
}

/// The same: not valid, or no number at all.
#[test]
fn invalid_numbers_are_reported() {
    for (number, default) in [("253 0000", "US"), ("12", "GB"), ("abc", "US"), ("+999123", "US"), ("", "US")] {
        let contact = one(json!({ "phone": number }), default);
        assert_eq!(contact["phone_valid"], false, "{number}");
        assert_eq!(contact["problems"].as_array().unwrap().len(), usize::from(!number.is_empty()), "{number}");
    }
}

/// A number of Berlin in a list without a country: the default country gives out no such number, so that no code is put
/// before it. phonenumbers 9.0 parses it as +1030123456 and calls it invalid.
#[test]
fn a_number_without_a_country_is_not_completed_by_guessing() {
    for number in ["030 123456", "0176 12345678", "253 0000"] {
        let contact = one(json!({ "phone": number }), "US");
        assert_eq!((&contact["e164"], &contact["country"]), (&json!(""), &json!("")), "{contact}");
        assert_eq!(contact["phone_valid"], false);
        let problem = contact["problems"][0].as_str().unwrap();
        assert!(problem.contains("is no number of US and has no country code"), "{problem}");
    }
    let context = Context::default();
    let input = json!({
        "contacts": [{ "id": "a", "phone": "030 123456" }, { "id": "b", "phone": "+49 30 123456" }],
        "default_country": "DE",
    });
    let output = crate::FAMILY.run(120, input, &context).unwrap();
    assert_eq!(output["contacts"][0]["e164"], "+4930123456");
    assert_eq!(
        context.into_warnings(),
        ["assumed: 1 numbers have no country code and were read as numbers of DE (default_country)"]
    );
}

/// Wikipedia, "Email address", the lists of valid and of invalid examples; email-validator 2.4 agrees, but for
/// the local part of more than 64 octets, which RFC 5321, section 4.5.3.1.1, forbids.
#[test]
fn addresses_of_the_well_known_lists() {
    for good in [
        "simple@example.com",
        "very.common@example.com",
        "long.email-address-with-hyphens@and.subdomains.example.com",
        "user.name+tag+sorting@example.com",
        "name/surname@example.com",
        "\" \"@example.org",
        "\"john..doe\"@example.org",
        "mailhost!username@example.org",
        "\"very.(),:;<>[]\\\".VERY.\\\"very@\\\\ \\\"very\\\".unusual\"@strange.example.com",
        "user%example.com@example.org",
        "user-@example.org",
        "postmaster@[123.123.123.123]",
        "postmaster@[IPv6:2001:0db8:85a3:0000:0000:8a2e:0370:7334]",
        "用户@例子.公司",
    ] {
        assert_eq!(email::read(good), Ok(good.replace("IPV6", "IPv6")), "{good}");
    }
    for bad in [
        "abc.example.com",
        "a@b@c@example.com",
        "a\"b(c)d,e:f;g<h>i[j\\k]l@example.com",
        "just\"not\"right@example.com",
        "this is\"not\\allowed@example.com",
        "this\\ still\\\"not\\\\allowed@example.com",
        "1234567890123456789012345678901234567890123456789012345678901234+x@example.com",
        "i.like.underscores@but_they_are_not_allowed_in_this_part",
        "a..b@example.com",
        ".a@example.com",
        "a.@example.com",
        "admin@localhost",
        "jo@-x.com",
        "postmaster@[123.123.123]",
    ] {
        assert!(email::read(bad).is_err(), "{bad}");
    }
    assert_eq!(email::read("A@Example.org"), Ok("A@example.org".to_owned()));
}

#[test]
fn names_are_capitalised() {
    for (input, tidy) in [
        ("JO  BLOGGS", "Jo Bloggs"),
        ("ludwig VAN beethoven", "ludwig VAN beethoven"),
        ("ludwig van beethoven", "Ludwig van Beethoven"),
        ("mary-jane o'neill", "Mary-Jane O'Neill"),
        ("RONALD MCDONALD", "Ronald McDonald"),
        ("DeShawn van Dyk", "DeShawn van Dyk"),
        ("ZOE\u{308} \u{200b}ÅBERG\t", "Zoë Åberg"),
        ("李小龙", "李小龙"),
    ] {
        assert_eq!(name::tidy(input), tidy);
    }
}

#[test]
fn duplicates_are_found_transitively() {
    let input = json!({
        "default_country": "NO",
        "contacts": [
            { "id": "a", "phone": "22 86 44 00" },
            { "id": "b", "email": "jo@example.org" },
            { "id": "c", "phone": "+47 22864400", "email": "Jo@Example.org" },
            { "id": "d", "phone": "12", "email": "broken" },
            { "id": "e", "phone": "12", "email": "broken" },
        ],
    });
    let output = crate::FAMILY.run(120, input, &Context::default()).unwrap();
    assert_eq!(output["duplicates"], json!([["a", "b", "c"]]));
}

#[test]
fn an_unknown_country_is_rejected() {
    let input = json!({ "contacts": [], "default_country": "Norway" });
    assert!(matches!(crate::FAMILY.run(120, input, &Context::default()), Err(Failure::Invalid { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_panics(text in "[-+0-9 ()./;=#x,a-z٣０éß]{0,40}(;ext=|;phone-context=|tel:|@)?[-+0-9a-z.\\[\\]\"]{0,20}") {
        let contact = one(json!({ "phone": text, "email": text, "name": text }), "DE");
        prop_assert!(contact["id"] == "1");
    }
}
