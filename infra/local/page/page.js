/** The local stack's page: who the demo user is, what answers, and the widget. */

const user = new URLSearchParams(location.search).get("user") || "auth0|demo";

function modelLine({ model }) {
  return model === "scripted"
    ? "Answers come from the scripted model; set DEEPSEEK_API_KEY for the real one."
    : `Answers come from ${model}.`;
}

function detailsLine({ embeddings, database }) {
  return `Embeddings: ${embeddings}. Database: ${database}.`;
}

async function showStatus(place) {
  const response = await fetch("/local/status");
  if (!response.ok) throw new Error(`/local/status answered ${response.status}`);
  const status = await response.json();
  place.textContent = [modelLine(status), detailsLine(status), ...status.notes].join(" ");
}

document.querySelector("#user").value = user;
// Before the element is defined: it reads its attributes when it starts.
document.querySelector("qwestly-chat").setAttribute("token-url", `/local/token?user=${encodeURIComponent(user)}`);
await import("/widget/qwestly-chat.js");

const place = document.querySelector("#status");
await showStatus(place).catch((error) => {
  place.textContent = `What runs could not be read: ${error.message}.`;
});
