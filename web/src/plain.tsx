/** What a browser without JavaScript is shown: a form that converts one file, and its answers. The service fills in what stands between `@@`. */
import type { ComponentChildren } from 'preact';
import { at } from './api/client.ts';
import { Icon } from './parts/icon.tsx';
import { t } from './words/words.ts';

/** What people ask for most; any other can be typed. */
const TARGETS = ['pdf', 'jpg', 'png', 'webp', 'docx', 'xlsx', 'txt', 'html', 'mp3', 'wav', 'mp4', 'gif'];

/** It says why it is there: in the document, where no script runs. */
export const PlainStart = () => (
  <section class="plain">
    <p class="notice">
      {t('plainLead')} <a href={at('docs')}>{t('plainApi')}</a>
    </p>
    <PlainForm />
  </section>
);

const PlainForm = () => (
  <form class="panel" method="post" action={at('plain')} enctype="multipart/form-data">
    <div class="options">
      <p class="option">
        <label for="plain-file">{t('plainFile')}</label>
        <input id="plain-file" type="file" name="file" required />
      </p>
      <p class="option">
        <label for="plain-target">{t('convertTo')}</label>
        <input
          id="plain-target"
          name="to_format"
          list="plain-targets"
          required
          pattern="[A-Za-z0-9.]{2,16}"
          placeholder="pdf"
          autocomplete="off"
          autocapitalize="none"
        />
        <datalist id="plain-targets">
          {TARGETS.map((target) => (
            <option key={target} value={target} />
          ))}
        </datalist>
      </p>
    </div>
    <button type="submit" class="button main large">
      {t('convert')}
    </button>
  </form>
);

const Frame = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <>
    <header class="top">
      <a class="brand" href={at('')}>
        <Icon name="brand" />
        filemill
      </a>
    </header>
    <main id="content">
      <h1>{title}</h1>
      {children}
    </main>
  </>
);

export const PlainWorking = () => (
  <Frame title={t('working')}>
    <p class="lead">
      <bdi>@@name@@</bdi>
    </p>
    <p class="quiet">{t('plainWorking')}</p>
  </Frame>
);

export const PlainDone = () => (
  <Frame title={t('done')}>
    <p class="lead">
      <bdi>@@name@@</bdi>, @@size@@
    </p>
    <p>
      <a class="button main large" href="@@href@@">
        <Icon name="down" />
        {t('download')}
      </a>
    </p>
    <h2>{t('plainNext')}</h2>
    <PlainForm />
  </Frame>
);

export const PlainFailed = () => (
  <Frame title={t('failed')}>
    <p class="notice">@@text@@</p>
    <h2>{t('plainNext')}</h2>
    <PlainForm />
  </Frame>
);
