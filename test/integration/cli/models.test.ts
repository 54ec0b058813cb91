/** `filemill models`, as an operator runs it: what it shows before a download, and whom it asks. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type CommandFolder, commandFolder } from './command.ts';

let home: CommandFolder;
let server: Server;
let asked: string[];
let base: string;
beforeEach(async () => {
  home = await commandFolder();
  asked = [];
  server = createServer(({ method, url }, response) => {
    asked.push(`${method} ${url}`);
    response.writeHead(404).end();
  });
  server.on('connect', ({ url }, socket) => {
    asked.push(`CONNECT ${url}`);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await home.remove();
});

const pull = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  home.run(['models', 'pull', ...args, '--into', home.folder], undefined, env);

it('shows the licence and its text before it asks for a file', async () => {
  const { code, stderr } = await pull(['ddcolor-tiny'], { HF_ENDPOINT: base });
  expect(code).not.toBe(0);
  expect(stderr.indexOf('licence: Apache-2.0')).toBeGreaterThanOrEqual(0);
  expect(stderr.indexOf('TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION')).toBeLessThan(stderr.indexOf('answers 404'));
});

it('asks where HF_ENDPOINT says, at the commit', async () => {
  await pull(['ddcolor-tiny'], { HF_ENDPOINT: base });
  expect(asked).toEqual(['GET /edgetools/ddcolor/resolve/c4c98361d19eda29908cc960be39e8eeb44fc530/ddcolor-tiny-fp16.onnx']);
});

it('asks by the proxy of HTTPS_PROXY', async () => {
  const { stderr } = await pull(['lama'], { HTTPS_PROXY: base, NO_PROXY: '' });
  expect(asked[0]).toBe('CONNECT huggingface.co:443');
  expect(stderr).toContain('huggingface.co could not be reached for lama_fp32.onnx');
});

it('asks a mirror for a digest', async () => {
  await pull(['isnet-general-use', '--from', `${base}/models`]);
  expect(asked).toEqual(['GET /models/60920e99c45464f2ba57bee2ad08c919a52bbf852739e96947fbb4358c0d964a']);
});

it('installs nothing that is not pinned, and lists it with the reason', async () => {
  const { code, stderr } = await pull(['birefnet-lite'], { HF_ENDPOINT: base });
  expect(code).not.toBe(0);
  expect(stderr).toContain('birefnet-lite cannot be installed: no address of model_fp16.onnx names a commit or a release');
  expect(asked).toEqual([]);
  const { stdout } = await home.run(['models']);
  expect(stdout.toString()).toMatch(/^birefnet-lite: .*; not installable: no address of model_fp16\.onnx names a commit or a release$/m);
  expect(stdout.toString()).toMatch(/^ddcolor-tiny: DDColor, tiny, 512 pixels, 135\.4 MB, Apache-2\.0; not installed$/m);
});
