//! q136: subnets and address blocks.

use std::collections::BTreeMap;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use muster_engine::prelude::*;

use crate::address::{Block, cover, number};

/// Maximum number of networks, addresses and sizes, and of blocks in the output.
const MAX: usize = 65_536;
/// Maximum number of reported overlaps.
const MAX_OVERLAPS: usize = 10_000;

#[derive(Debug, Input)]
pub struct Input {
    operation: Operation,
    networks: Vec<String>,
    prefix: Option<u8>,
    sizes: Vec<Size>,
    addresses: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
enum Operation {
    Inspect,
    Split,
    Aggregate,
    Contains,
    Allocate,
    RangeToCidr,
}

#[derive(Debug, Input)]
struct Size {
    name: String,
    hosts: i64,
}

#[derive(Debug, Output)]
pub struct Output {
    networks: Vec<Network>,
    allocation: Vec<Allocation>,
    contains: BTreeMap<String, Vec<String>>,
    overlaps: Vec<Vec<String>>,
}

#[derive(Debug, Output)]
struct Network {
    cidr: String,
    first: String,
    last: String,
    hosts: String,
    mask: String,
    class: &'static str,
}

#[derive(Debug, Output)]
struct Allocation {
    name: String,
    cidr: String,
    free: String,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let counts =
        [("networks", input.networks.len()), ("addresses", input.addresses.len()), ("sizes", input.sizes.len())];
    if let Some((name, count)) = counts.into_iter().find(|(_, count)| *count > MAX) {
        return Err(Failure::too_large(format!("{name} has {count} items, at most {MAX} are allowed")));
    }
    let mut output =
        Output { networks: Vec::new(), allocation: Vec::new(), contains: BTreeMap::new(), overlaps: Vec::new() };
    if input.operation == Operation::RangeToCidr {
        let mut blocks = Vec::new();
        for (at, text) in input.networks.iter().enumerate() {
            blocks.extend(range(text).map_err(|why| invalid("networks", at, why))?);
        }
        output.networks = blocks.into_iter().map(network).collect();
        return Ok(output);
    }
    let blocks = read("networks", &input.networks, cx)?;
    match input.operation {
        Operation::Inspect => {
            output.overlaps = overlaps(&blocks, cx);
            output.networks = blocks.into_iter().map(network).collect();
        }
        Operation::Split => output.networks = split(&blocks, input.prefix)?.into_iter().map(network).collect(),
        Operation::Aggregate => {
            output.overlaps = overlaps(&blocks, cx);
            output.networks = aggregated(&blocks).into_iter().map(network).collect();
        }
        Operation::Contains => {
            let addresses = read("addresses", &input.addresses, cx)?;
            if blocks.len().saturating_mul(addresses.len()) > 20_000_000 {
                return Err(Failure::too_large("networks × addresses must be at most 20,000,000: ask in parts"));
            }
            for block in &blocks {
                let held = addresses.iter().zip(&input.addresses).filter(|(address, _)| block.contains(**address));
                output.contains.insert(block.cidr(), held.map(|(_, text)| text.trim().to_owned()).collect());
            }
            output.overlaps = overlaps(&blocks, cx);
            output.networks = blocks.into_iter().map(network).collect();
        }
        Operation::Allocate => (output.allocation, output.networks) = allocate(&blocks, &input.sizes)?,
        Operation::RangeToCidr => {}
    }
    Ok(output)
}

fn invalid(field: &str, at: usize, why: impl Into<String>) -> Failure {
    Failure::invalid(&[field, &at.to_string()], why)
}

fn read(field: &str, texts: &[String], cx: &Context) -> Result<Vec<Block>, Failure> {
    let mut blocks = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        let (block, extra) = Block::read(text).map_err(|why| invalid(field, at, why))?;
        if extra {
            cx.warn(format!("host-bits: {field}[{at}] has bits beyond its prefix; it is taken as {}", block.cidr()));
        }
        blocks.push(block);
    }
    Ok(blocks)
}

/// Reads `first-last`, or a block.
fn range(text: &str) -> Result<Vec<Block>, String> {
    let Some((first, last)) = text.split_once('-') else { return Block::read(text).map(|(block, _)| vec![block]) };
    let (first, last) = number(first).zip(number(last)).ok_or("must be two addresses with a hyphen between them")?;
    if first.0 != last.0 || first.1 > last.1 {
        return Err("must begin with the lower of two addresses of one version".to_owned());
    }
    Ok(cover(first.0, first.1, last.1))
}

/// RFC 3021 uses both addresses of a /31, RFC 6164 both of a /127; RFC 4291 section 2.6.1 keeps the first of an IPv6 block.
fn network(block: Block) -> Network {
    let span = block.span();
    let (first, last, hosts) = match (block.v6, span) {
        (_, 0 | 1) => (block.base, block.last(), span + 1),
        (false, _) => (block.base + 1, block.last() - 1, span - 1),
        (true, _) => (block.base + 1, block.last(), span),
    };
    let all = Block { v6: block.v6, base: 0, prefix: 0 }.last();
    Network {
        cidr: block.cidr(),
        first: block.address(first),
        last: block.address(last),
        hosts: hosts.to_string(),
        mask: block.address(all & !span),
        class: block.class(),
    }
}

fn split(blocks: &[Block], prefix: Option<u8>) -> Result<Vec<Block>, Failure> {
    let prefix = prefix.ok_or_else(|| Failure::invalid(&["prefix"], "is needed to split: the prefix of the parts"))?;
    let mut parts = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        if prefix < block.prefix || prefix > Block::bits(block.v6) {
            let most = Block::bits(block.v6);
            let why = format!("must be {} to {most} to split networks[{at}], {}", block.prefix, block.cidr());
            return Err(Failure::invalid(&["prefix"], why));
        }
        let bits = prefix - block.prefix;
        if bits > 16 || parts.len() + (1 << bits) > MAX {
            return Err(Failure::too_large(format!(
                "a split may give at most {MAX} networks: choose a shorter prefix"
            )));
        }
        let size = Block::new(block.v6, 0, prefix).span() + 1;
        parts.extend((0..1_u128 << bits).map(|n| Block::new(block.v6, block.base + n * size, prefix)));
    }
    Ok(parts)
}

/// The fewest blocks with the same addresses, IPv4 first.
fn aggregated(blocks: &[Block]) -> Vec<Block> {
    let (mut v4, mut v6) = (Vec::<Ipv4Net>::new(), Vec::<Ipv6Net>::new());
    for net in blocks.iter().filter_map(|block| block.net()) {
        match net {
            IpNet::V4(net) => v4.push(net),
            IpNet::V6(net) => v6.push(net),
        }
    }
    let v4 = Ipv4Net::aggregate(&v4).into_iter().map(|net| Block::from(IpNet::V4(net)));
    v4.chain(Ipv6Net::aggregate(&v6).into_iter().map(|net| Block::from(IpNet::V6(net)))).collect()
}

/// Pairs of which one contains the other: blocks overlap in no other way. Sorted by address, wider first, the containers
/// of a block are on a stack.
fn overlaps(blocks: &[Block], cx: &Context) -> Vec<Vec<String>> {
    let mut sorted: Vec<Block> = blocks.to_vec();
    sorted.sort_unstable();
    let (mut open, mut pairs) = (Vec::<Block>::new(), Vec::new());
    for block in sorted {
        while open.last().is_some_and(|outer| !outer.contains(block)) {
            open.pop();
        }
        for outer in &open {
            if pairs.len() == MAX_OVERLAPS {
                cx.warn(format!("truncated: more than {MAX_OVERLAPS} overlaps"));
                return pairs;
            }
            pairs.push(vec![outer.cidr(), block.cidr()]);
        }
        open.push(block);
    }
    pairs
}

/// Variable-length subnets, largest first, each in the smallest free block that holds it. As all sizes are powers of two,
/// this finds a place for all if there is one.
fn allocate(blocks: &[Block], sizes: &[Size]) -> Result<(Vec<Allocation>, Vec<Network>), Failure> {
    let Some(first) = blocks.first() else {
        return Err(Failure::invalid(&["networks"], "must name a block to allocate from"));
    };
    if let Some(at) = blocks.iter().position(|block| block.v6 != first.v6) {
        return Err(invalid("networks", at, "must be of the same IP version as the first block"));
    }
    let reserved = if first.v6 { 1 } else { 2 };
    let mut wanted = Vec::with_capacity(sizes.len());
    for (at, size) in sizes.iter().enumerate() {
        let hosts = u128::try_from(size.hosts).ok().filter(|hosts| *hosts > 0);
        let hosts =
            hosts.ok_or_else(|| Failure::invalid(&["sizes", &at.to_string(), "hosts"], "must be at least 1"))?;
        let bits = (hosts + reserved).next_power_of_two().trailing_zeros() as u8;
        wanted.push((at, hosts, bits));
    }
    wanted.sort_by_key(|(at, _, bits)| (std::cmp::Reverse(*bits), *at));
    // By free bits, then by address.
    let mut free: std::collections::BTreeSet<(u8, u128)> =
        aggregated(blocks).into_iter().map(|block| (Block::bits(block.v6) - block.prefix, block.base)).collect();
    let mut placed: Vec<(usize, Allocation)> = Vec::with_capacity(wanted.len());
    for (at, hosts, bits) in wanted {
        let Some((mut room, base)) = free.range((bits, 0)..).next().copied() else {
            let name = sizes.get(at).map_or("", |size| size.name.as_str());
            let message = format!("no free block holds {hosts} hosts for sizes[{at}] ({name}): add a network");
            return Err(Failure::no_answer(NoAnswer::Infeasible, message));
        };
        free.remove(&(room, base));
        while room > bits {
            room -= 1;
            free.insert((room, base + (1_u128 << room)));
        }
        let block = Block::new(first.v6, base, Block::bits(first.v6) - bits);
        let left = block.span() + 1 - reserved - hosts;
        let name = sizes.get(at).map(|size| size.name.clone()).unwrap_or_default();
        placed.push((at, Allocation { name, cidr: block.cidr(), free: left.to_string() }));
    }
    placed.sort_by_key(|(at, _)| *at);
    let mut rest: Vec<Block> =
        free.into_iter().map(|(bits, base)| Block::new(first.v6, base, Block::bits(first.v6) - bits)).collect();
    rest.sort_unstable();
    Ok((placed.into_iter().map(|(_, allocation)| allocation).collect(), rest.into_iter().map(network).collect()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn go(input: Input) -> Output {
        run(input, &Context::default()).unwrap()
    }

    fn of(operation: Operation, networks: Vec<String>) -> Input {
        Input { operation, networks, prefix: None, sizes: Vec::new(), addresses: Vec::new() }
    }

    proptest! {
        #[test]
        fn a_split_aggregates_to_its_block(base: u32, prefix in 8_u8..=24, more in 0_u8..=8) {
            let block = Block::new(false, base.into(), prefix);
            let parts = go(Input { prefix: Some(prefix + more), ..of(Operation::Split, vec![block.cidr()]) });
            prop_assert_eq!(parts.networks.len(), 1 << more);
            let cidrs = parts.networks.into_iter().map(|part| part.cidr).rev().collect();
            let whole = go(of(Operation::Aggregate, cidrs));
            prop_assert_eq!(whole.networks.len(), 1);
            prop_assert_eq!(&whole.networks[0].cidr, &block.cidr());
            prop_assert!(whole.overlaps.is_empty());
        }

        #[test]
        fn a_range_is_covered_without_gap_or_overlap(a: u32, b: u32) {
            let (first, last) = (a.min(b), a.max(b));
            let blocks = cover(false, first.into(), last.into());
            let mut next = u128::from(first);
            for block in blocks {
                prop_assert_eq!(block.base, next);
                next = block.last() + 1;
            }
            prop_assert_eq!(next, u128::from(last) + 1);
        }

        #[test]
        fn allocations_are_disjoint_and_inside(hosts in proptest::collection::vec(1_i64..200, 1..20)) {
            let sizes = hosts.iter().map(|hosts| Size { name: String::new(), hosts: *hosts }).collect();
            let plan = go(Input { sizes, ..of(Operation::Allocate, vec!["10.0.0.0/18".to_owned()]) });
            let mut blocks: Vec<Block> = plan.allocation.iter().map(|part| Block::read(&part.cidr).unwrap().0).collect();
            for (block, hosts) in blocks.iter().zip(&hosts) {
                prop_assert!(block.span() > *hosts as u128);
            }
            blocks.extend(plan.networks.iter().map(|rest| Block::read(&rest.cidr).unwrap().0));
            let sum: u128 = blocks.iter().map(|block| block.span() + 1).sum();
            prop_assert_eq!(sum, 1 << 14);
            prop_assert!(overlaps(&blocks, &Context::default()).is_empty());
        }
    }
}
