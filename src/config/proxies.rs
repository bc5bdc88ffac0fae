//! Networks whose proxies are trusted.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Networks of the proxies whose `X-Forwarded-*` headers count. Written as addresses and as networks in CIDR notation.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Returns the networks.
    pub fn networks(&self) -> &[IpNet] {
        &self.0
    }

    /// Returns whether an address is that of a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

impl fmt::Debug for TrustedProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(ToString::to_string)).finish()
    }
}

impl Serialize for TrustedProxies {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(ToString::to_string))
    }
}

impl<'de> Deserialize<'de> for TrustedProxies {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let network = |text: String| {
            let address = || text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
            text.parse::<IpNet>().ok().or_else(address).ok_or_else(|| {
                D::Error::custom(format!("`{text}`: an address such as 10.0.0.5, or a network such as 10.0.0.0/8"))
            })
        };
        let networks: Result<_, _> = Vec::<String>::deserialize(from)?.into_iter().map(network).collect();
        networks.map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks_are_read_and_anything_else_is_an_error() {
        let read = |text: &str| serde_json::from_str::<TrustedProxies>(text);
        let proxies = read("[\"10.0.0.0/8\", \"192.0.2.7\", \"2001:db8::/32\"]").unwrap();
        for (address, trusted) in
            [("10.1.2.3", true), ("11.0.0.1", false), ("192.0.2.7", true), ("192.0.2.8", false), ("2001:db8::9", true)]
        {
            assert_eq!(proxies.contains(address.parse().unwrap()), trusted, "{address}");
        }
        assert_eq!(read(&serde_json::to_string(&proxies).unwrap()).unwrap(), proxies);
        for bad in ["[\"proxy\"]", "[\"10.0.0.0/33\"]", "[\"\"]"] {
            assert!(read(bad).unwrap_err().to_string().contains("10.0.0.0/8"), "{bad}");
        }
    }
}
