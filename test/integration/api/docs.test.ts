/** The API reference in a real browser that reaches nothing but the service. */
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startService } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

interface Visit {
  readonly page: Page;
  /** What the browser complained of. */
  readonly complaints: readonly string[];
  /** Addresses outside the service that it asked for. */
  readonly strangers: readonly string[];
}

describe('the page of the API', () => {
  let service: Pick<Service, 'url'>;
  let browser: Browser;
  beforeAll(async () => {
    service = await sharedService();
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  });
  afterAll(async () => {
    await browser?.close();
  });

  async function visit(url: string): Promise<Visit> {
    const page = await browser.newPage();
    const complaints: string[] = [];
    const strangers: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url) && !/^(data|blob):/.test(request.url())) strangers.push(request.url());
    });
    await page.goto(url);
    await page.getByText('OPERATIONS').first().waitFor();
    return { page, complaints, strangers };
  }

  it('shows every operation, its form and its answers, without a complaint or a request to another server', async () => {
    const { page, complaints, strangers } = await visit(`${service.url}/docs`);
    for (const operation of ['post-/api/v1/convert', 'post-/api/v1/tools/watermark-image', 'get-/api/v1/formats', 'post-/api/v1/uploads']) {
      await page.goto(`${service.url}/docs#?route=${operation}`);
      await page
        .getByText(operation.replace(/^[a-z]+-/, ''), { exact: true })
        .first()
        .waitFor();
    }
    await page.goto(`${service.url}/docs#?route=post-/api/v1/convert`);
    await page.getByText('to_format').filter({ visible: true }).first().waitFor();
    expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
    await page.close();
  });

  it('begins with an example that runs here, and with links', async () => {
    const { page } = await visit(`${service.url}/docs`);
    await page.getByText(`'${service.url}/api/v1/convert?download=1'`).first().waitFor();
    await page.locator(`a[href="${service.url}/api/v1/tools"]`).first().waitFor();
    expect(await page.getByText('COMPONENTS', { exact: true }).count()).toBe(0);
    await page.close();
  });

  it('allows no script or style of another origin, and no page to frame it', async () => {
    const answer = await fetch(`${service.url}/docs`);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    expect(await answer.text()).not.toMatch(/https?:\/\//);
  });

  it('sends a request from the page itself', async () => {
    const { page, complaints } = await visit(`${service.url}/docs#?route=get-/api/v1/limits`);
    await page.getByRole('button', { name: 'Execute' }).first().click();
    await page.getByText('rejections_last_hour').first().waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('the document', () => {
  it('names the public address of the service, and is not sent again to a client that has it', async () => {
    const service = await startService({ api: { publicUrl: 'https://files.example.org/mill/' } });
    try {
      const answer = await fetch(`${service.url}/openapi.json`);
      expect(await answer.json()).toMatchObject({ openapi: '3.1.1', servers: [{ url: 'https://files.example.org/mill' }] });
      const etag = answer.headers.get('etag') ?? '';
      expect((await fetch(`${service.url}/openapi.json`, { headers: { 'if-none-match': etag } })).status).toBe(304);
      expect(await (await fetch(`${service.url}/docs`)).text()).toContain('src="/mill/docs/explorer.js"');
    } finally {
      await service.stop();
    }
  });
});
