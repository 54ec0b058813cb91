/** Starts the page: what the document shows of it already comes to life. */
import { render } from 'preact';
import { App } from './app.tsx';
import { watchAddress } from './route.ts';
import './style.css';
import { chooseLanguage } from './words/words.ts';
import { watchHistory } from './work/history.ts';
import { removeCopied } from './work/sink.ts';

watchAddress();
watchHistory();
void removeCopied();
await chooseLanguage(navigator.languages);
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
