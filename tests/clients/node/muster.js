// A running Muster, started on a free port with its own folder and stopped as an operator would stop it.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import OpenAI from 'openai';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
// A start takes under a second; a busy machine may take longer.
const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 60_000;

function binary() {
  const target = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target');
  const found = path.resolve(process.env.MUSTER_BIN ?? path.join(target, 'debug/muster'));
  if (!existsSync(found)) throw new Error(`no server at ${found}: build it (make test-rust), or name it in MUSTER_BIN`);
  return found;
}

// A whole key, in the form of contract 0: 12 characters of identifier, 43 of base64url secret.
export function newKey() {
  return `mst_${randomBytes(6).toString('hex')}_${randomBytes(32).toString('base64url')}`;
}

// config.toml with one provider for these models and no other.
function settings(baseURL, models) {
  return [
    '[[provider]]',
    'id = "scripted"',
    'kind = "openai"',
    `base_url = "${baseURL}"`,
    `models = ${JSON.stringify(models)}`,
    '[chain]',
    'order = ["scripted"]',
    '[llm]',
    'model = "none"',
    '',
  ].join('\n');
}

export class Muster {
  static async start(baseURL, models) {
    const muster = new Muster();
    muster.key = newKey();
    muster.folder = mkdtempSync(path.join(tmpdir(), 'muster-node-'));
    const config = path.join(muster.folder, 'config.toml');
    writeFileSync(config, settings(baseURL, models));
    // Nothing of the caller's own settings, keys or proxies gets in.
    const kept = ['PATH', 'HOME', 'TMPDIR'].filter((name) => name in process.env);
    const env = Object.fromEntries(kept.map((name) => [name, process.env[name]]));
    env.MUSTER_BOOTSTRAP_KEY = muster.key;
    env.MUSTER_ADMIN_PASSWORD = randomBytes(18).toString('base64url');
    const data = path.join(muster.folder, 'data');
    const command = ['serve', '--listen', '127.0.0.1:0', '--data', data, '--config', config];
    muster.process = spawn(binary(), command, { env, cwd: muster.folder, stdio: ['ignore', 'pipe', 'pipe'] });
    muster.process.stderr.pipe(createWriteStream(path.join(muster.folder, 'stderr.log')));
    muster.ended = new Promise((resolve) => muster.process.once('close', (code) => resolve(code)));
    muster.origin = await muster.address();
    return muster;
  }

  async address() {
    // A server that hangs is ended, and with it the output that we read.
    const watchdog = setTimeout(() => this.process.kill('SIGKILL'), START_WITHIN_MS);
    try {
      for await (const line of createInterface({ input: this.process.stdout })) {
        if (line.startsWith('listening on http://')) {
          // Or a talkative server blocks on a full pipe.
          this.process.stdout.resume();
          return line.slice('listening on '.length).trim();
        }
      }
    } finally {
      clearTimeout(watchdog);
    }
    throw new Error(`the server did not start; it logged: ${this.logged()}`);
  }

  logged() {
    return readFileSync(path.join(this.folder, 'stderr.log'), 'utf8').slice(-4000);
  }

  client({ apiKey = this.key, prefix = '/v1', maxRetries = 0 } = {}) {
    return new OpenAI({ apiKey, baseURL: `${this.origin}${prefix}`, maxRetries, timeout: 60_000 });
  }

  // Where the breakers of its providers stand, but for the embedded model's.
  async breakers() {
    const answer = await fetch(`${this.origin}/api/v1/status`, { headers: { authorization: `Bearer ${this.key}` } });
    const { providers } = await answer.json();
    return providers.filter((provider) => provider.id !== 'embedded').map((provider) => provider.breaker.state);
  }

  // Creates a key over the API and returns its text.
  async makeKey(wanted) {
    const answer = await fetch(`${this.origin}/api/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'test', ...wanted }),
    });
    if (answer.status !== 201) throw new Error(`no key: ${answer.status} ${await answer.text()}`);
    return (await answer.json()).key;
  }

  // SIGTERM drains, flushes and ends with 0.
  async stop() {
    this.process.kill('SIGTERM');
    const watchdog = setTimeout(() => this.process.kill('SIGKILL'), STOP_WITHIN_MS);
    const code = await this.ended;
    clearTimeout(watchdog);
    if (code !== 0) throw new Error(`exit code ${code} after SIGTERM; it logged: ${this.logged()}`);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
