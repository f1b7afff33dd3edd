import { pageOf } from "../page";

function ChatPage() {
  return (
    <div class="content">
      <h1>Chat</h1>
    </div>
  );
}

export default pageOf(ChatPage);
