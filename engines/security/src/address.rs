//! Blocks of IPv4 and IPv6 addresses, and what they are reserved for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::IpNet;

/// A block of addresses of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// Whether it is IPv6.
    pub v6: bool,
    /// First address.
    pub base: u128,
    /// Length of the prefix.
    pub prefix: u8,
}

impl Block {
    /// Bits of an address.
    pub const fn bits(v6: bool) -> u8 {
        if v6 { 128 } else { 32 }
    }

    /// Creates the block that contains an address.
    pub fn new(v6: bool, address: u128, prefix: u8) -> Self {
        let prefix = prefix.min(Self::bits(v6));
        let within = low_bits(Self::bits(v6) - prefix);
        Self { v6, base: address & !within, prefix }
    }

    /// Reads `address/prefix`, `address/netmask` or an address. The second value is whether bits beyond the prefix were
    /// set.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn read(text: &str) -> Result<(Self, bool), String> {
        let text = text.trim();
        if let Some((address, mask)) = text.split_once('/') {
            let prefix = prefix_of(mask).ok_or("the prefix must be a number, or a netmask such as 255.255.255.0")?;
            let (v6, address) = number(address).ok_or("the address must be IPv4 or IPv6")?;
            if prefix > Self::bits(v6) {
                return Err(format!("the prefix must be at most {}", Self::bits(v6)));
            }
            let block = Self::new(v6, address, prefix);
            return Ok((block, block.base != address));
        }
        let (v6, address) = number(text).ok_or("must be an IPv4 or IPv6 address or block, such as 10.0.0.0/8")?;
        Ok((Self::new(v6, address, Self::bits(v6)), false))
    }

    /// Last address.
    pub fn last(self) -> u128 {
        self.base | low_bits(Self::bits(self.v6) - self.prefix)
    }

    /// Number of addresses less one.
    pub fn span(self) -> u128 {
        low_bits(Self::bits(self.v6) - self.prefix)
    }

    /// Whether it contains all addresses of another block.
    pub fn contains(self, other: Self) -> bool {
        self.v6 == other.v6 && self.prefix <= other.prefix && self.base <= other.base && other.last() <= self.last()
    }

    /// Writes an address of its version.
    pub fn address(self, number: u128) -> String {
        written(self.v6, number)
    }

    /// Writes it as `address/prefix`.
    pub fn cidr(self) -> String {
        format!("{}/{}", self.address(self.base), self.prefix)
    }

    /// Returns it as the library's type; `None` never happens for blocks made here.
    pub fn net(self) -> Option<IpNet> {
        IpNet::new(self.address(self.base).parse().ok()?, self.prefix).ok()
    }

    /// Returns what the smallest registered block that contains it is for; `global` outside of all.
    pub fn class(self) -> &'static str {
        let holds = SPECIAL.iter().filter(|special| special.block.contains(self));
        match holds.max_by_key(|special| special.block.prefix) {
            Some(special) => special.class,
            None if SPECIAL.iter().any(|special| self.contains(special.block)) => "mixed",
            None => "global",
        }
    }

    /// Whether the registries mark it as reachable from everywhere.
    pub fn is_global(self) -> bool {
        let holds = SPECIAL.iter().filter(|special| special.block.contains(self));
        holds.max_by_key(|special| special.block.prefix).is_none_or(|special| special.global)
    }
}

impl From<IpNet> for Block {
    fn from(net: IpNet) -> Self {
        let (v6, base) = numbered(net.network());
        Self { v6, base, prefix: net.prefix_len() }
    }
}

/// Reads an address as a number, and whether it is IPv6.
pub fn number(text: &str) -> Option<(bool, u128)> {
    text.trim().parse::<IpAddr>().ok().map(numbered)
}

/// Writes an address.
pub fn written(v6: bool, number: u128) -> String {
    if v6 { Ipv6Addr::from(number).to_string() } else { Ipv4Addr::from(number as u32).to_string() }
}

fn numbered(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(address) => (false, u128::from(u32::from(address))),
        IpAddr::V6(address) => (true, u128::from(address)),
    }
}

/// The lowest bits, all set.
const fn low_bits(bits: u8) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

fn prefix_of(mask: &str) -> Option<u8> {
    if let Ok(prefix) = mask.parse() {
        return Some(prefix);
    }
    let mask = u32::from(mask.parse::<Ipv4Addr>().ok()?);
    (mask.leading_ones() + mask.trailing_zeros() == 32 || mask == u32::MAX).then(|| mask.leading_ones() as u8)
}

/// A block of the registries.
struct Special {
    block: Block,
    class: &'static str,
    global: bool,
}

static SPECIAL: LazyLock<Vec<Special>> = LazyLock::new(|| {
    let lines = include_str!("../data/special_addresses.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    lines
        .filter_map(|line| {
            let mut cells = line.split(',');
            let block = Block::read(cells.next()?).ok()?.0;
            Some(Special { block, class: cells.next()?, global: cells.nth(1)? == "true" })
        })
        .collect()
});

/// The fewest blocks that cover the addresses from one to another.
pub fn cover(v6: bool, first: u128, last: u128) -> Vec<Block> {
    let (mut blocks, mut at) = (Vec::new(), first);
    while at <= last {
        let aligned = (at.trailing_zeros() as u8).min(Block::bits(v6));
        let room = last - at;
        // 127 bits hold more than any distance but the whole space.
        let fits = if room == u128::MAX { 128 } else { (room + 1).ilog2() as u8 };
        let block = Block::new(v6, at, Block::bits(v6) - aligned.min(fits));
        blocks.push(block);
        match block.last().checked_add(1) {
            Some(next) => at = next,
            None => break,
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_registry_is_read() {
        let lines = include_str!("../data/special_addresses.csv").lines().count();
        assert_eq!(SPECIAL.len(), lines - 3);
    }

    #[test]
    fn classes_follow_the_smallest_registered_block() {
        let class = |text| Block::read(text).unwrap().0.class();
        assert_eq!(class("192.0.0.9"), "port-control-anycast");
        assert_eq!(class("192.0.0.0/24"), "ietf-protocol-assignments");
        assert_eq!(class("8.8.8.8"), "global");
        assert_eq!(class("0.0.0.0/0"), "mixed");
        assert_eq!(class("fd00::/8"), "unique-local");
    }

    #[test]
    fn a_cover_is_exact_at_the_ends_of_the_space() {
        assert_eq!(cover(true, 0, u128::MAX).len(), 1);
        assert_eq!(cover(false, 0, u128::from(u32::MAX)).len(), 1);
        let cidrs: Vec<String> = cover(false, 1, 6).into_iter().map(Block::cidr).collect();
        assert_eq!(cidrs, ["0.0.0.1/32", "0.0.0.2/31", "0.0.0.4/31", "0.0.0.6/32"]);
        assert_eq!(cover(true, u128::MAX - 1, u128::MAX).len(), 1);
    }

    #[test]
    fn netmasks_must_be_contiguous() {
        assert_eq!(Block::read("10.0.0.0/255.255.255.0").unwrap().0.prefix, 24);
        assert!(Block::read("10.0.0.0/255.0.255.0").is_err());
        assert!(Block::read("10.0.0.0/33").is_err());
    }
}
