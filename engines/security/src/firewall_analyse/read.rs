//! Reading of rules and packets, and the risks of single rules.

use super::boxes::{Interval, Region};
use super::{Action, Packet, Written};
use crate::address::{Block, number};

/// Services that should not be reachable from everywhere.
const SERVICES: [(u16, &str); 18] = [
    (21, "FTP"),
    (22, "SSH"),
    (23, "Telnet"),
    (135, "RPC"),
    (139, "NetBIOS"),
    (389, "LDAP"),
    (445, "SMB"),
    (1433, "SQL Server"),
    (2375, "Docker without TLS"),
    (3306, "MySQL"),
    (3389, "RDP"),
    (5432, "PostgreSQL"),
    (5900, "VNC"),
    (6379, "Redis"),
    (9200, "Elasticsearch"),
    (10250, "Kubelet"),
    (11211, "Memcached"),
    (27017, "MongoDB"),
];
/// Ports in a row from which a rule is called broad.
const BROAD: u128 = 1_000;

/// A rule as a set of packets.
pub(super) struct Rule {
    pub id: String,
    pub action: Action,
    pub regions: Vec<Region>,
    from_anywhere: bool,
    to_anywhere: bool,
}

/// The field that is wrong, and why.
type Wrong = (&'static str, String);

pub(super) fn rule(written: &Written) -> Result<Rule, Wrong> {
    let id = written.id.trim().to_owned();
    if id.is_empty() || id.len() > 200 {
        return Err(("id", "must have 1 to 200 bytes".to_owned()));
    }
    let sources = addresses(&written.source).map_err(|why| ("source", why))?;
    let destinations = addresses(&written.destination).map_err(|why| ("destination", why))?;
    let protocols = protocols(&written.protocol).map_err(|why| ("protocol", why))?;
    let ports = ports(&written.ports).map_err(|why| ("ports", why))?;
    let all_ports = ports.contains(&(0, 65_535));
    if !all_ports && !protocols.iter().all(|(low, high)| low == high && has_ports(*low)) {
        return Err(("ports", "must be any unless protocol is tcp, udp or sctp".to_owned()));
    }
    let (mut regions, size) = (Vec::new(), sources.len() * destinations.len() * protocols.len() * ports.len());
    if size > 4_096 {
        return Err(("source", "the lists give too many combinations: at most 4096".to_owned()));
    }
    for (v6, source) in &sources {
        for (_, destination) in destinations.iter().filter(|(other, _)| other == v6) {
            for protocol in &protocols {
                regions.extend(
                    ports.iter().map(|ports| Region { v6: *v6, sides: [*source, *destination, *protocol, *ports] }),
                );
            }
        }
    }
    if regions.is_empty() {
        return Err(("destination", "must be of the IP version of the source".to_owned()));
    }
    let anywhere = |list: &[(bool, Interval)]| list.iter().any(|(v6, interval)| *interval == whole(*v6));
    let (from_anywhere, to_anywhere) = (anywhere(&sources), anywhere(&destinations));
    Ok(Rule { id, action: written.action, regions, from_anywhere, to_anywhere })
}

pub(super) fn packet(written: &Packet) -> Result<Region, Wrong> {
    let address = |text: &str| number(text).ok_or_else(|| "must be an IPv4 or IPv6 address".to_owned());
    let (v6, source) = address(&written.source).map_err(|why| ("source", why))?;
    let (other, destination) = address(&written.destination).map_err(|why| ("destination", why))?;
    if v6 != other {
        return Err(("destination", "must be of the IP version of the source".to_owned()));
    }
    let protocols = protocols(&written.protocol).map_err(|why| ("protocol", why))?;
    let protocol = match protocols.as_slice() {
        [(low, high)] if low == high => *low,
        _ => return Err(("protocol", "must be one protocol, such as tcp".to_owned())),
    };
    let port = u16::try_from(written.port).map_err(|_| ("port", "must be 0 to 65535".to_owned()))?;
    let port = if has_ports(protocol) { u128::from(port) } else { 0 };
    Ok(Region { v6, sides: [(source, source), (destination, destination), (protocol, protocol), (port, port)] })
}

impl Rule {
    /// Whether it takes every packet of a version.
    pub(super) fn is_everything(&self) -> bool {
        let everything = |region: &Region| region.sides == [whole(region.v6), whole(region.v6), (0, 255), (0, 65_535)];
        self.regions.iter().any(everything)
    }

    pub(super) fn risks(&self) -> Vec<String> {
        let mut risks = Vec::new();
        if self.action == Action::Deny {
            return risks;
        }
        let ports: Vec<Interval> = self.regions.iter().filter_map(|region| region.sides.get(3).copied()).collect();
        if self.is_everything() {
            risks.push("allows everything from everywhere: name sources, destinations and ports".to_owned());
        } else if self.from_anywhere {
            let open = |port: u16| ports.iter().any(|(low, high)| (*low..=*high).contains(&u128::from(port)));
            let services: Vec<&str> = SERVICES.iter().filter(|(port, _)| open(*port)).map(|(_, name)| *name).collect();
            if !services.is_empty() {
                risks.push(format!("opens {} to everywhere: name the sources", services.join(", ")));
            }
            if ports.iter().any(|(low, high)| high - low >= BROAD) {
                risks.push("opens more than 1000 ports to everywhere: name the ports".to_owned());
            }
        }
        if self.to_anywhere && !self.from_anywhere && ports.contains(&(0, 65_535)) {
            risks.push("lets its sources connect to everywhere on every port: name the destinations".to_owned());
        }
        risks
    }
}

const fn whole(v6: bool) -> Interval {
    if v6 { (0, u128::MAX) } else { (0, u32::MAX as u128) }
}

const fn has_ports(protocol: u128) -> bool {
    matches!(protocol, 6 | 17 | 132 | 33 | 136)
}

/// `any`, blocks, addresses and ranges with commas between them. Overlapping ones are joined.
fn addresses(text: &str) -> Result<Vec<(bool, Interval)>, String> {
    let mut list = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part.eq_ignore_ascii_case("any") || part == "*" {
            list.extend([(false, whole(false)), (true, whole(true))]);
        } else if let Some((low, high)) = part.split_once('-') {
            let ends = number(low).zip(number(high)).filter(|(low, high)| low.0 == high.0 && low.1 <= high.1);
            let (low, high) = ends.ok_or_else(|| format!("{}: must be two addresses, the lower first", shown(part)))?;
            list.push((low.0, (low.1, high.1)));
        } else {
            let (block, _) = Block::read(part).map_err(|why| format!("{}: {why}, or any", shown(part)))?;
            list.push((block.v6, (block.base, block.last())));
        }
    }
    list.sort_unstable();
    Ok(joined(list))
}

fn joined(sorted: Vec<(bool, Interval)>) -> Vec<(bool, Interval)> {
    let mut list: Vec<(bool, Interval)> = Vec::new();
    for (v6, (low, high)) in sorted {
        match list.last_mut() {
            Some((last_v6, (_, end))) if *last_v6 == v6 && low <= end.saturating_add(1) => *end = high.max(*end),
            _ => list.push((v6, (low, high))),
        }
    }
    list
}

fn protocols(text: &str) -> Result<Vec<Interval>, String> {
    let mut list = Vec::new();
    for part in text.split([',', '/']).map(|part| part.trim().to_ascii_lowercase()) {
        let number = match part.as_str() {
            "any" | "*" | "ip" | "all" => return Ok(vec![(0, 255)]),
            "icmp" => 1,
            "igmp" => 2,
            "tcp" => 6,
            "udp" => 17,
            "dccp" => 33,
            "gre" => 47,
            "esp" => 50,
            "ah" => 51,
            "icmpv6" | "ipv6-icmp" => 58,
            "ospf" => 89,
            "sctp" => 132,
            other => other
                .parse::<u8>()
                .map_err(|_| {
                    format!("{}: must be tcp, udp, icmp, another protocol's name, its number or any", shown(other))
                })?
                .into(),
        };
        if !list.contains(&(number, number)) {
            list.push((number, number));
        }
    }
    Ok(list)
}

fn ports(text: &str) -> Result<Vec<Interval>, String> {
    let mut list = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part.eq_ignore_ascii_case("any") || part == "*" {
            return Ok(vec![(0, 65_535)]);
        }
        let (low, high) = part.split_once(['-', ':']).unwrap_or((part, part));
        let ends =
            low.trim().parse::<u16>().ok().zip(high.trim().parse::<u16>().ok()).filter(|(low, high)| low <= high);
        let (low, high) =
            ends.ok_or_else(|| format!("{}: must be any, a port or a range such as 8000-8080", shown(part)))?;
        list.push((false, (u128::from(low), u128::from(high))));
    }
    list.sort_unstable();
    Ok(joined(list).into_iter().map(|(_, interval)| interval).collect())
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(60).collect()
}
