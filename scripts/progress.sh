# For scripts that wait: runs a command, and says every few seconds how far it is.
#
#   waiting_for TEXT COMMAND...    TEXT: a command that prints how far it is; nothing is said while it prints the same, for 8 s at most

waiting_for() {
  waiting_text=$1
  shift
  "$@" &
  waiting_pid=$!
  waiting_last=
  waiting_quiet=0
  while kill -0 "$waiting_pid" 2>/dev/null; do
    sleep 1
    waiting_now=$($waiting_text)
    waiting_quiet=$((waiting_quiet + 1))
    if [ -n "$waiting_now" ] && { [ "$waiting_now" != "$waiting_last" ] || [ "$waiting_quiet" -ge 8 ]; }; then
      echo "  $waiting_now"
      waiting_last=$waiting_now
      waiting_quiet=0
    fi
  done
  wait "$waiting_pid"
}
