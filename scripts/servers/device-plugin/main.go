// A device plugin of Kubernetes that offers one device, for tests: its file stands in for a GPU's.
//
//	device-plugin FOLDER RESOURCE FILE PATH...    FOLDER: a kubelet's, with its plugins_registry; FILE of this machine is at each PATH of a container
package main

import (
	"context"
	"log"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registry "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	file  string
	paths []string
}

func (plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	device := &api.Device{ID: "the-one", Health: api.Healthy}
	if err := stream.Send(&api.ListAndWatchResponse{Devices: []*api.Device{device}}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p plugin) Allocate(_ context.Context, asked *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for range asked.ContainerRequests {
		container := &api.ContainerAllocateResponse{}
		for _, path := range p.paths {
			container.Devices = append(container.Devices, &api.DeviceSpec{HostPath: p.file, ContainerPath: path, Permissions: "rw"})
		}
		response.ContainerResponses = append(response.ContainerResponses, container)
	}
	return response, nil
}

// What the kubelet, which watches the folder, asks of a new socket in it. The other way to register is one socket for all kubelets of a machine.
type registration struct {
	registry.UnimplementedRegistrationServer
	info *registry.PluginInfo
}

func (r registration) GetInfo(context.Context, *registry.InfoRequest) (*registry.PluginInfo, error) {
	return r.info, nil
}

func (registration) NotifyRegistrationStatus(_ context.Context, status *registry.RegistrationStatus) (*registry.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		log.Print(status.Error)
	}
	return &registry.RegistrationStatusResponse{}, nil
}

func main() {
	if len(os.Args) < 5 {
		log.Fatal("usage: device-plugin FOLDER RESOURCE FILE PATH...")
	}
	path := filepath.Join(os.Args[1], "plugins_registry", "stand-in.sock")
	os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	info := &registry.PluginInfo{Type: registry.DevicePlugin, Name: os.Args[2], Endpoint: path, SupportedVersions: []string{api.Version}}
	server := grpc.NewServer()
	registry.RegisterRegistrationServer(server, registration{info: info})
	api.RegisterDevicePluginServer(server, plugin{file: os.Args[3], paths: os.Args[4:]})
	log.Fatal(server.Serve(listener))
}
