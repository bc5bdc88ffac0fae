//! q120: Contact normalisation.

mod email;
mod name;
mod phone;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use phonenumber::country;

use muster_engine::prelude::*;

/// Maximum number of contacts per call.
const MAX_CONTACTS: usize = 20_000;

#[derive(Input)]
pub struct Input {
    contacts: Vec<ContactInput>,
    default_country: String,
}

#[derive(Input)]
struct ContactInput {
    id: String,
    phone: Option<String>,
    email: Option<String>,
    name: Option<String>,
}

#[derive(Output)]
pub struct Output {
    contacts: Vec<Contact>,
    /// Ids of contacts that share a valid number or address, directly or transitively.
    duplicates: Vec<Vec<String>>,
}

/// Texts are empty if the input has none or it was not recognised.
#[derive(Default, Output)]
struct Contact {
    id: String,
    e164: String,
    phone_valid: bool,
    /// As named by libphonenumber, such as `fixed_line_or_mobile`.
    phone_type: String,
    /// ISO 3166-1 alpha-2.
    country: String,
    email: String,
    email_valid: bool,
    name: String,
    problems: Vec<String>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.contacts.len() > MAX_CONTACTS {
        return Err(Failure::too_large(format!("contacts are more than {MAX_CONTACTS}: give them in parts")));
    }
    let country: country::Id = input.default_country.trim().to_uppercase().parse().map_err(|_| {
        Failure::invalid(&["default_country"], "is not a country with telephone numbers: write two letters such as NO")
    })?;
    let mut assumed = 0_usize;
    let contacts: Vec<Contact> =
        input.contacts.into_iter().map(|input| contact(input, country, &mut assumed, context)).collect();
    if assumed > 0 {
        context.warn(format!(
            "assumed: {assumed} numbers have no country code and were read as numbers of {country:?} (default_country)"
        ));
    }
    let duplicates = duplicates(&contacts);
    Ok(Output { contacts, duplicates })
}

fn contact(input: ContactInput, country: country::Id, assumed: &mut usize, context: &Context) -> Contact {
    let mut contact = Contact { id: input.id, ..Contact::default() };
    let reported = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    if let Some(text) = reported(input.phone) {
        match phone::read(&text, country) {
            Ok(phone) => {
                if !phone.valid {
                    contact.problems.push("phone: no network gives out this number".to_owned());
                }
                if let Some(extension) = phone.extension {
                    context.warn(format!("lost: {}: E.164 cannot represent the extension {extension}", contact.id));
                }
                *assumed += usize::from(phone.assumed);
                contact.e164 = phone.e164;
                contact.phone_valid = phone.valid;
                contact.phone_type = phone.kind;
                contact.country = phone.country;
            }
            Err(problem) => contact.problems.push(format!("phone: {problem}")),
        }
    }
    if let Some(text) = reported(input.email) {
        match email::read(text.trim()) {
            Ok(address) => (contact.email, contact.email_valid) = (address, true),
            Err(problem) => {
                contact.email = text.trim().to_owned();
                contact.problems.push(format!("email: {problem}"));
            }
        }
    }
    if let Some(text) = reported(input.name) {
        contact.name = name::tidy(&text);
        if !contact.name.chars().any(char::is_alphabetic) {
            contact.problems.push("name: has no letter".to_owned());
        }
    }
    contact
}

/// Groups in input order, by their first member.
fn duplicates(contacts: &[Contact]) -> Vec<Vec<String>> {
    let mut group: Vec<usize> = (0..contacts.len()).collect();
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for (index, contact) in contacts.iter().enumerate() {
        let phone = contact.phone_valid.then(|| contact.e164.clone());
        // Addresses that differ only in case are treated as equal.
        let email = contact.email_valid.then(|| contact.email.to_lowercase());
        for key in phone.into_iter().chain(email) {
            let other = *first.entry(key).or_insert(index);
            let (one, other) = (root(&group, index), root(&group, other));
            if let Some(place) = group.get_mut(one.max(other)) {
                *place = one.min(other);
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (index, contact) in contacts.iter().enumerate() {
        groups.entry(root(&group, index)).or_default().push(contact.id.clone());
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// Finds a group's representative: each entry points to an earlier one or to itself.
fn root(group: &[usize], mut index: usize) -> usize {
    while let Some(&before) = group.get(index).filter(|before| **before < index) {
        index = before;
    }
    index
}
