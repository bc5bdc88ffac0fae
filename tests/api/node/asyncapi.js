// Prints the diagnostics of the official AsyncAPI parser for the document on standard input, as JSON.

import { text } from "node:stream/consumers";

import { Parser } from "@asyncapi/parser";

const { diagnostics } = await new Parser().parse(await text(process.stdin));
const lines = diagnostics.map(({ code, message, path, severity }) => ({ code, message, path: path.join("/"), severity }));
process.stdout.write(JSON.stringify(lines));
