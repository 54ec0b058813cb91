/** Starts the page: what the document shows of it already comes to life. */
import { render } from 'preact';
import { watchConnection } from './api/client.ts';
import { App } from './app.tsx';
import { watchAddress } from './route.ts';
import './style.css';
import { chooseLanguage } from './words/words.ts';
import { watchChoices } from './work/choices.ts';
import { watchClock } from './work/clock.ts';
import { watchList } from './work/list.ts';
import { removeCopied } from './work/sink.ts';

watchAddress();
watchClock();
watchChoices();
watchList();
watchConnection();
void removeCopied();
await chooseLanguage(navigator.languages);
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
