/** An authority of a test's own, and certificates that it made out, as files. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Identity {
  /** Paths of PEM files. */
  readonly cert: string;
  readonly key: string;
}

export interface Authority {
  /** Path of its certificate in PEM. */
  readonly ca: string;
  /** @param names as `subjectAltName` has them (RFC 5280, 4.2.1.6), such as `DNS:localhost` */
  identity(name: string, names?: string): Identity;
}

/** @param folder that its files lie in, and go with */
export function authorityIn(folder: string, name = 'authority'): Authority {
  const at = (file: string) => join(folder, file);
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const [ca, caKey] = [at(`${name}.crt`), at(`${name}.key`)];
  openssl('req', '-x509', ...curve, '-keyout', caKey, '-subj', `/CN=${name}`, '-days', '30', '-out', ca);
  return {
    ca,
    identity(own, names = 'DNS:localhost,IP:127.0.0.1') {
      const [cert, key, request, extensions] = [at(`${own}.crt`), at(`${own}.key`), at(`${own}.csr`), at(`${own}.ext`)];
      openssl('req', ...curve, '-keyout', key, '-subj', `/CN=${own}`, '-out', request);
      writeFileSync(extensions, `subjectAltName=${names}\n`);
      openssl(
        'x509',
        '-req',
        '-in',
        request,
        '-CA',
        ca,
        '-CAkey',
        caKey,
        '-CAcreateserial',
        '-days',
        '30',
        '-extfile',
        extensions,
        '-out',
        cert,
      );
      return { cert, key };
    },
  };
}
