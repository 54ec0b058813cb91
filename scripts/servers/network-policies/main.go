// Enforces NetworkPolicies between pods of scripts/cluster: packets that open a connection come by NFQUEUE, and the policies of the API
// server say which of them go on. One process for all nodes, which share a network. kube-network-policies itself asks nftables for its
// queue, which not every kernel has; here iptables does (scripts/cluster).
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/florianl/go-nfqueue/v2"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/api"
	"sigs.k8s.io/kube-network-policies/pkg/network"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
	"sigs.k8s.io/kube-network-policies/pkg/podinfo"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	queue := flag.Int("queue", 100, "number of the NFQUEUE")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := enforce(ctx, *kubeconfig, uint16(*queue)); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

func enforce(ctx context.Context, kubeconfig string, queue uint16) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	informers := informers.NewSharedInformerFactory(clients, 0)
	pods, namespaces := informers.Core().V1().Pods(), informers.Core().V1().Namespaces()
	addresses, err := podinfo.NewInformerResolver(pods.Informer())
	if err != nil {
		return err
	}
	policies := networkpolicy.NewStandardNetworkPolicy("", namespaces, pods, informers.Networking().V1().NetworkPolicies())
	// It tells a data plane to change its rules; ours has the same at all times.
	policies.SetDataplaneSyncCallback(func() {})
	known := podinfo.NewInformerProvider(pods, namespaces, nil, []podinfo.IPResolver{addresses})
	engine := networkpolicy.NewPolicyEngine(known, []api.PolicyEvaluator{policies})
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())

	packets, err := nfqueue.Open(&nfqueue.Config{NfQueue: queue, MaxPacketLen: 256, MaxQueueLen: 4096, Copymode: nfqueue.NfQnlCopyPacket})
	if err != nil {
		return err
	}
	defer packets.Close()
	allowed := func(payload []byte) bool {
		packet, err := network.ParsePacket(payload)
		if err == nil && awaitPod(known, packet.SrcIP.String()) {
			var accepted bool
			if accepted, err = engine.EvaluatePacket(ctx, &packet); accepted {
				return true
			}
		}
		log.Printf("refused: %s:%d to %s:%d (%v)", packet.SrcIP, packet.SrcPort, packet.DstIP, packet.DstPort, err)
		return false
	}
	judge := func(attribute nfqueue.Attribute) int {
		if attribute.PacketID == nil || attribute.Payload == nil {
			return 0
		}
		id, payload := *attribute.PacketID, append([]byte(nil), *attribute.Payload...)
		go func() {
			verdict := nfqueue.NfDrop
			if allowed(payload) {
				verdict = nfqueue.NfAccept
			}
			if err := packets.SetVerdict(id, verdict); err != nil {
				log.Print(err)
			}
		}()
		return 0
	}
	if err := packets.RegisterWithErrorFunc(ctx, judge, func(err error) int { log.Print(err); return 0 }); err != nil {
		return err
	}
	log.Print("enforcing")
	<-ctx.Done()
	return nil
}

// A pod sends before the API server knows its address: its first packet waits for that a moment, as the sender would otherwise a second.
func awaitPod(known api.PodInfoProvider, address string) bool {
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, found := known.GetPodInfoByIP(address); found {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
