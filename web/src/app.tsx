/** The page: its frame, and the view that the address names. */
import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { at, pause } from './api/client.ts';
import { ConvertPage } from './pages/convert.tsx';
import { JobPage, JobsPage } from './pages/jobs.tsx';
import { ToolPage, ToolsPage } from './pages/tools.tsx';
import { Icon } from './parts/icon.tsx';
import { Nothing } from './parts/nothing.tsx';
import { href, path } from './route.ts';
import { count, duration, t } from './words/words.ts';
import { known } from './work/history.ts';

function Nav({ view, children }: { view: string; children: ComponentChildren }) {
  const current = path.value === view || (view !== '/' && path.value.startsWith(`${view}/`));
  return (
    <a href={href(view)} data-view={view} aria-current={current ? 'page' : undefined}>
      {children}
    </a>
  );
}

/** Why the page waits, and how long still. */
function PauseBar() {
  const left = useSignal(0);
  useSignalEffect(() => {
    const now = pause.value;
    if (now === undefined) return undefined;
    const tick = () => {
      left.value = Math.max(0, now.until - Date.now());
    };
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  });
  const now = pause.value;
  return (
    <div class="pause" role="status" hidden={now === undefined}>
      {now !== undefined && (
        <p>
          <Icon name={now.why === 'lost' ? 'lost' : 'clock'} />
          {now.why === 'lost' ? t('lostPause') : t(now.why === 'limit' ? 'limitPause' : 'busyPause', { time: duration(left.value) })}
        </p>
      )}
    </div>
  );
}

/** `png-to-webp`, as the service reads it. */
function pairOf([pair = '', ...more]: readonly (string | undefined)[]): { readonly from: string; readonly to: string } | undefined {
  const [, from, to] = /^([a-z0-9]{1,12})-to-([a-z0-9]{1,12})$/i.exec(pair) ?? [];
  if (from === undefined || to === undefined || more.some((each) => each !== undefined)) return undefined;
  return { from: from.toLowerCase(), to: to.toLowerCase() };
}

function View() {
  const [, first = '', second, ...more] = path.value.split('/');
  const pair = pairOf(first === 'convert' ? [second, ...more] : [first, second, ...more]);
  if (pair !== undefined) return <ConvertPage key={path.value} {...pair} />;
  if (more.length === 0) {
    if (first === '' && second === undefined) return <ConvertPage />;
    if (first === 'tools') return second === undefined ? <ToolsPage /> : <ToolPage key={second} slug={second} />;
    if (first === 'jobs') return second === undefined ? <JobsPage /> : <JobPage key={second} id={second} />;
  }
  return (
    <Nothing
      title={t('notFound')}
      more={
        <a class="button" href={href('/')} data-view="/">
          {t('toStart')}
        </a>
      }
    />
  );
}

export function App() {
  const jobs = useComputed(() => known.value.length);
  return (
    <>
      <header class="top">
        <button
          type="button"
          class="skip"
          // No link: its address would be that of the start page, wherever this is (`base`).
          onClick={() => document.getElementById('content')?.focus()}
        >
          {t('skip')}
        </button>
        <a class="brand" href={href('/')} data-view="/">
          <Icon name="brand" />
          filemill
        </a>
        <nav aria-label={t('menu')}>
          <Nav view="/">{t('convert')}</Nav>
          <Nav view="/tools">{t('tools')}</Nav>
          <Nav view="/jobs">
            {t('jobs')}
            {jobs.value > 0 && <span class="count">{count(jobs.value)}</span>}
          </Nav>
          <a href={at('docs')}>{t('api')}</a>
        </nav>
      </header>
      <PauseBar />
      <main id="content" tabIndex={-1}>
        <View />
      </main>
      <footer class="foot">
        <p>{t('kept')}</p>
      </footer>
    </>
  );
}
